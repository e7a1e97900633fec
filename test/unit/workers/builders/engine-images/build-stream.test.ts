import { expect } from 'chai';
import { explainBuild } from '../../../../../workers/builders/engine-images/build-failure.js';
import { followBuild } from '../../../../../workers/builders/engine-images/build-stream.js';
import { Status } from '../../../../../workers/builders/engine-images/buildkit-messages.js';

async function follow(...events: (object | string)[]) {
  const lines: string[] = [];
  const text = events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event))).join('\n');
  // The pieces end within lines, and within characters.
  const bytes = Buffer.from(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
  }
  const end = await followBuild(pieces(), { onLine: async (line) => void lines.push(line) });
  return { ...end, lines };
}

interface Step {
  cached?: boolean;
  started?: object;
  completed?: object;
}

const trace = (vertexes: object[], logs: object[] = []) => ({
  id: 'moby.buildkit.trace',
  aux: Status.encode({ vertexes, logs } as Parameters<typeof Status.encode>[0]).toString('base64'),
});
const vertex = (digest: string, name: string, step: Step = {}) => ({ digest, name, ...step });
const output = (digest: string, text: string) => ({ vertex: digest, msg: Buffer.from(text) });
const [started, completed] = [{ started: {} }, { completed: {} }];

describe("A build's progress", () => {
  it("consists of BuildKit's steps and output, each once", async () => {
    const { lines, imageId } = await follow(
      trace([vertex('a', '[1/3] FROM x', { cached: true, ...completed })]),
      trace([vertex('b', '[2/3] RUN y')]),
      trace([vertex('b', '[2/3] RUN y', started)]),
      trace([vertex('b', '[2/3] RUN y', started)], [output('b', 'one\ntw')]),
      trace([vertex('c', '[3/3] RUN z', started)], [output('c', `${'long '.repeat(50)}\n`)]),
      trace([], [output('b', 'o\nthree')]),
      trace([vertex('b', '[2/3] RUN y', { ...started, ...completed })]),
      { id: 'moby.image.id', aux: { ID: 'sha256:2' } },
    );
    const long = 'long '.repeat(50);
    const told = ['CACHED [1/3] FROM x', '[2/3] RUN y', 'one', '[3/3] RUN z', long, 'two', 'three'];
    expect(lines).to.deep.equal(told);
    expect(imageId).to.equal('sha256:2');
  });

  it('reports a failure as an event', async () => {
    const { error } = await follow({ errorDetail: { message: 'because' }, error: 'b' });
    expect(error).to.equal('because');
  });

  it('of a message that is cut off is an error', () => {
    expect(() => Status.decode(Buffer.from([0x0a, 0x05, 0x41]))).to.throw(RangeError);
  });

  it('is read from the bytes that BuildKit sends, and unknown fields are skipped', async () => {
    // Fields 1 to 7 of a vertex: digest, inputs, name, cached, started, completed, error.
    const fields = ['0a0161', '120162', '1a0163', '2001', '2a0608011080c201', '32020802', '3a0466616975'];
    const vertexBytes = Buffer.from(fields.join(''), 'hex');
    const message = Buffer.concat([Buffer.from([0x0a, vertexBytes.length]), vertexBytes]);
    const { lines } = await follow({ id: 'moby.buildkit.trace', aux: message.toString('base64') });
    expect(lines).to.deep.equal(['CACHED c']);
  });

  it('is explained with the command, its code and the line that tells most', () => {
    const build = { origin: 'the Dockerfile' };
    const explain = (message: string) => (explainBuild(message, build, 'the cause') as Error).message;
    const failed = '"npm ci" exited with code 3: the cause';
    const own = '/bin/sh -c export NODE_ENV=development; npm ci';
    expect(explain(`executor failed running [${own}]: exit code: 3`)).to.equal(failed);
    expect(explain(`failed to solve: process "${own}" did not complete successfully: exit code: 3`)).to.equal(failed);
    expect(explain(`process "${own}" did not complete successfully: exit code: 137`)).to.match(/killed \(code 137\)/);
    expect(
      explain('failed to solve with frontend dockerfile.v0: failed to create LLB definition: x: not found'),
    ).to.equal('an image that the Dockerfile names cannot be pulled: x: not found');
    expect(explain('dockerfile parse error line 2: unknown instruction: FRUM')).to.equal(
      'the build failed: dockerfile parse error line 2: unknown instruction: FRUM',
    );
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(explainBuild(refused, build, '')).to.equal(refused);
  });
});

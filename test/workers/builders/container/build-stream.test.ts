import { expect } from 'chai';
import { followBuild } from '../../../../workers/builders/container/build-stream.js';
import { explainBuild } from '../../../../workers/builders/container/explain.js';
import { readFields } from '../../../../workers/builders/container/protobuf.js';

async function follow(...events: (object | string)[]) {
  const lines: string[] = [];
  const text = events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event))).join('\n');
  // Cut within lines, and within characters.
  const bytes = Buffer.from(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
  }
  const end = await followBuild(pieces(), { onLine: async (line) => void lines.push(line) });
  return { ...end, lines };
}

function field(number: number, content: Buffer | string | number): Buffer {
  if (typeof content === 'number') return Buffer.from([number << 3, content]);
  const bytes = Buffer.from(content);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

const trace = (...messages: Buffer[]) => ({
  id: 'moby.buildkit.trace',
  aux: Buffer.concat(messages).toString('base64'),
});
const vertex = (digest: string, name: string, ...more: Buffer[]) =>
  field(1, Buffer.concat([field(1, digest), field(3, name), ...more]));
const output = (digest: string, text: string) =>
  field(3, Buffer.concat([field(1, digest), field(3, 2), field(4, text)]));
const [started, completed] = [field(5, ''), field(6, '')];

describe("A build's progress", () => {
  it('is lines of the classic builder, without its bookkeeping', async () => {
    const { lines, imageId, error } = await follow(
      { stream: 'Step 1/2 : FROM x\n' },
      { stream: ' ---> 0123456789ab\n' },
      { stream: 'grü' },
      { stream: 'n\nlast' },
      { aux: { ID: 'sha256:1' } },
    );
    expect(lines).to.deep.equal(['Step 1/2 : FROM x', 'grün', 'last']);
    expect({ imageId, error }).to.deep.equal({ imageId: 'sha256:1', error: null });
  });

  it('is steps and output of BuildKit, each once', async () => {
    const { lines, imageId } = await follow(
      trace(vertex('a', '[1/3] FROM x', field(4, 1), completed)),
      trace(vertex('b', '[2/3] RUN y')),
      trace(vertex('b', '[2/3] RUN y', started)),
      trace(vertex('b', '[2/3] RUN y', started), output('b', 'one\ntw')),
      trace(vertex('c', '[3/3] RUN z', started), output('c', `${'long '.repeat(50)}\n`)),
      trace(output('b', 'o\nthree')),
      trace(vertex('b', '[2/3] RUN y', started, completed, field(7, 'exit code: 1'))),
      { id: 'moby.image.id', aux: { ID: 'sha256:2' } },
    );
    const long = 'long '.repeat(50);
    const told = ['CACHED [1/3] FROM x', '[2/3] RUN y', 'one', '[3/3] RUN z', long, 'two', 'three'];
    expect(lines).to.deep.equal(told);
    expect(imageId).to.equal('sha256:2');
  });

  it('tells a failure as an event', async () => {
    const { error } = await follow({ errorDetail: { message: 'because' }, error: 'b' });
    expect(error).to.equal('because');
  });

  it('of a message that is cut off is an error', () => {
    expect(() => [...readFields(Buffer.from([0x0a, 0x05, 0x41]))]).to.throw(RangeError);
  });

  it('is explained with the command, its code and what it said last', () => {
    const build = { kind: 'classic', origin: 'the Dockerfile', memoryMb: 512 } as const;
    const explain = (message: string) => (explainBuild(message, build, 'the cause') as Error).message;
    const failed = '"npm ci" exited with code 3: the cause';
    const own = '/bin/sh -c export NODE_ENV=development; npm ci';
    expect(explain(`executor failed running [${own}]: exit code: 3`)).to.equal(failed);
    expect(explain(`failed to solve: process "${own}" did not complete successfully: exit code: 3`)).to.equal(failed);
    expect(explain(`The command '${own}' returned a non-zero code: 3`)).to.equal(failed);
    expect(explain(`The command '${own}' returned a non-zero code: 137`)).to.match(/killed .* more than 512 MB/);
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

import { mock } from 'node:test';
import { expect } from 'chai';
import type { ReplicaRow } from '../../../../../workers/replicas/rows.js';
import { ImageCheck } from '../../../../../workers/runtime/process/image-check.js';
import type { ReleaseSpec } from '../../../../../workers/runtime/runtime-driver.js';

const ROW = { id: 'r', restarts: 0 } as ReplicaRow;
const user = { uid: 0, gid: 0, groups: [] };

function specOf(healthCheck: object | undefined): ReleaseSpec {
  const process = { args: [], user, ports: [], ...(healthCheck === undefined ? {} : { healthCheck }) };
  return { image: { manifest: { process, workingDirectory: '/www' } } } as unknown as ReleaseSpec;
}

describe('ImageCheck', () => {
  const spec = specOf({ args: ['check'], intervalMs: 10_000, timeoutMs: 1000, retries: 2 });
  let code: number | null;
  let commands: object[];
  let check: ImageCheck;

  beforeEach(() => {
    mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
    [code, commands] = [0, []];
    check = new ImageCheck({
      exec: async (_id, _process, command) => {
        commands.push(command);
        return { code, output: 'a line\nthe last line\n' };
      },
    });
  });
  afterEach(() => mock.timers.reset());

  async function after(result: number | null): Promise<string> {
    code = result;
    mock.timers.tick(10_000);
    check.trouble(ROW, spec);
    await new Promise((resolve) => setImmediate(resolve));
    return check.trouble(ROW, spec);
  }

  it('finds trouble until the check has passed, and after as many failures in a row as the image allows', async () => {
    code = 3;
    expect(check.trouble(ROW, spec)).to.match(/has not ended yet/);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await after(3)).to.equal("the image's HEALTHCHECK failed with code 3: the last line");
    expect(await after(0)).to.equal('');
    expect(await after(1)).to.equal('');
    expect(await after(null)).to.match(/did not end in time/);
    expect(await after(0)).to.equal('');
    expect(commands[0]).to.deep.equal({ args: ['check'], timeoutMs: 1000, user, cwd: '/www' });
  });

  it("runs one check at a time, at the image's interval", async () => {
    check.trouble(ROW, spec);
    check.trouble(ROW, spec);
    expect(commands).to.have.length(1);
    await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(9_999);
    check.trouble(ROW, spec);
    expect(commands).to.have.length(1);
    mock.timers.tick(1);
    check.trouble(ROW, spec);
    expect(commands).to.have.length(2);
  });

  it('finds none in an image without a check', () => {
    expect(check.trouble(ROW, specOf(undefined))).to.equal('');
    expect(commands).to.have.length(0);
  });
});

import { execFile } from 'node:child_process';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { isRoot } from '../../../workers/sandbox/service-users.js';

const run = promisify(execFile);
const UID = 61_236;
const AS_USER = ['--reuid', String(UID), '--regid', String(UID), '--clear-groups', '--'];

describe('A sandbox that an ordinary user makes', function () {
  this.timeout(600_000);
  let home: string;
  let usable = false;

  before(async () => {
    if (process.platform !== 'linux' || !isRoot()) return;
    // Below /tmp, the home would be hidden in any case.
    home = await mkdtemp('/var/ranvier-home-');
    await writeFile(join(home, 'key'), 'secret');
    await chown(home, UID, UID);
    usable = await run('setpriv', [
      ...AS_USER,
      'unshare',
      '--user',
      '--map-root-user',
      '--mount',
      '--pid',
      '--fork',
      'true',
    ])
      // Another user cannot run a checkout that only root can read.
      .then(() => run('setpriv', [...AS_USER, 'test', '-r', fileURLToPath(import.meta.url)]))
      .then(
        () => true,
        () => false,
      );
  });
  beforeEach(function () {
    if (!usable) this.skip();
  });
  after(async () => {
    if (home) await rm(home, { recursive: true, force: true });
  });

  it('shows nothing of its home and of other processes, and ends with all that it started', async () => {
    const command = `id -un; cat ${home}/key; ls -A ${home} | wc -l; ls -d /proc/[0-9]* | wc -l; unshare --user true; umount ${home}; echo over`;
    const program = fileURLToPath(new URL('./as-user.js', import.meta.url));
    // DATA_DIR is below the home.
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home };
    const { stdout } = await run('setpriv', [...AS_USER, process.execPath, program, command], { cwd: '/', env });
    const { level, outcome, stdout: lines, detached, reached } = JSON.parse(stdout);
    expect(level).to.equal('rootless');
    expect(reached).to.deep.equal([]);
    expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 0 });
    expect([lines[0], lines[1], lines[3]]).to.deep.equal(['app', '0', 'over']);
    expect(Number(lines[2])).to.be.lessThan(10);
    expect(JSON.stringify(lines)).to.not.contain('secret');
    expect(detached).to.include({ exit: '3\n' });
    expect(detached.members).to.be.greaterThan(1);
    expect(detached.log).to.match(/^runs\n(.*\n)?ends\n$/);
    expect(detached.left).to.deep.equal([]);
  });

  it('keeps what the tests of sandboxes ask of every level', async () => {
    const mocha = fileURLToPath(new URL('../../../../node_modules/mocha/bin/mocha.js', import.meta.url));
    const files = ['levels', 'run', 'start', 'pause', '../volumes/volume-tar'].map((name) =>
      fileURLToPath(new URL(`./${name}.test.js`, import.meta.url)),
    );
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home };
    const argv = [...AS_USER, process.execPath, mocha, '--no-package', '--timeout', '120000', ...files];
    const { stdout } = await run('setpriv', argv, { cwd: '/', env, maxBuffer: 2 ** 24 }).catch((error) => {
      throw new Error(`${error.stdout}\n${error.stderr}`);
    });
    expect(stdout)
      .to.match(/level rootless/)
      .and.not.match(/failing/);
  });
});

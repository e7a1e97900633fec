import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { ownDirectory, uidOf } from '../../../workers/sandbox/service-users.js';
import { LEVELS, SandboxFixture, USER } from './support.js';

/** Leaves behind a child, a double-forked child, and one in its own session. */
const SCATTER = 'sleep 300 & (sleep 300 &) ; setsid sleep 300 & echo started';

for (const level of LEVELS) {
  describe(`Sandbox run, level ${level}`, () => {
    let fixture: SandboxFixture;
    before(async () => {
      fixture = await SandboxFixture.create(level);
      expect(fixture.sandbox.level).to.equal(level);
    });
    after(() => fixture.destroy());
    afterEach(async () => expect(await fixture.left(), 'processes left behind').to.deep.equal([]));

    it('reports the exit code and both streams', async () => {
      const { outcome, stdout, stderr } = await fixture.run('echo out; echo err >&2; printf last; exit 7');
      expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 7 });
      expect(stdout).to.deep.equal(['out', 'last']);
      expect(stderr).to.deep.equal(['err']);
    });

    it('reports the signal that ended the command', async () => {
      const { outcome, stderr } = await fixture.run('kill -9 $$');
      expect(outcome).to.deep.equal({ reason: 'signalled', signal: 'SIGKILL' });
      expect(stderr).to.deep.equal([]);
    });

    it('runs a command in what was made before it was known', async () => {
      const spec = await fixture.spec('pwd; echo kept >file; id -u >user; echo "$VALUE"');
      fixture.sandbox.expect(spec);
      const { outcome, stdout } = await fixture.run(spec.command, { ...spec, env: { VALUE: 'given later' } });
      expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 0 });
      expect(stdout).to.deep.equal([fixture.sandbox.pathOf(spec), 'given later']);
      expect(await readFile(join(spec.directory, 'file'), 'utf8')).to.equal('kept\n');
      fixture.sandbox.forget(spec.id);
      const again = await fixture.run('', { ...spec, command: 'echo again' });
      expect(again.stdout).to.deep.equal(['again']);
    });

    it('leaves nothing of a command that was expected and does not run', async () => {
      const spec = await fixture.spec('echo after');
      fixture.sandbox.expect(spec);
      fixture.sandbox.forget(spec.id);
      await fixture.sandbox.sweep(async () => () => true);
      expect(await readdir(join(fixture.dataDir, 'sandboxes')).catch(() => [])).not.to.include(spec.id);
      expect((await fixture.run(spec.command, spec)).stdout).to.deep.equal(['after']);
    });

    it('makes what an expectation could not make', async () => {
      const spec = await fixture.spec('echo made');
      fixture.sandbox.expect({ ...spec, directory: join(spec.directory, 'missing') });
      expect((await fixture.run(spec.command, spec)).stdout).to.deep.equal(['made']);
    });

    it('has Python under the name that most Procfiles use, if the host has it at all', async function () {
      if (fixture.sandbox.level === 'none' || spawnSync('/usr/bin/python3', ['--version']).status !== 0) this.skip();
      const { stdout } = await fixture.run(`python -c "print(1 + 1)"`);
      expect(stdout).to.deep.equal(['2']);
    });

    it('works in the folder below its own, which it may write to', async () => {
      const spec = await fixture.spec('pwd; echo kept >file');
      await mkdir(join(spec.directory, 'sub'));
      await ownDirectory(spec.directory, USER);
      const { stdout } = await fixture.run(spec.command, { ...spec, cwd: 'sub' });
      expect(stdout).to.deep.equal([join(fixture.sandbox.pathOf(spec), 'sub')]);
      expect(await readFile(join(spec.directory, 'sub', 'file'), 'utf8')).to.equal('kept\n');
    });

    it('gives the environment it was given, a private HOME and TMPDIR, and nothing of the platform', async () => {
      process.env.RANVIER_TEST_SECRET = 'platform';
      const value = 'a "b" $HOME `id`\n\'c\' \\ é';
      const { stdout } = await fixture.run(
        'touch "$HOME/x" "$TMPDIR/x" && node -e "console.log(JSON.stringify(process.env))"',
        { env: { VALUE: value, LD_PRELOAD: '' } },
      );
      delete process.env.RANVIER_TEST_SECRET;
      const env: Record<string, string> = JSON.parse(stdout.join('\n'));
      expect(env.VALUE).to.equal(value);
      const known = ['HOME', 'LD_PRELOAD', 'OLDPWD', 'PATH', 'PWD', 'RANVIER_SANDBOX', 'SHLVL', 'TMPDIR', 'VALUE', '_'];
      expect(known).to.include.members(Object.keys(env));
    });

    it('does not let variables of the command reach the programs that make the sandbox', async () => {
      const { outcome, stdout } = await fixture.run('echo "$PATH"', {
        env: {
          PATH: '/nowhere',
          LD_PRELOAD: '/nowhere/evil.so',
          ENV: '/nowhere/profile',
          BASH_ENV: '/nowhere/profile',
        },
      });
      expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 0 });
      expect(stdout).to.deep.equal(['/nowhere']);
    });

    it('passes on variables whose names a shell may use itself', async () => {
      const env = {
        kind: '1',
        path: '2',
        session: '3',
        child: '4',
        code: '5',
        UID: '6',
        name: '7',
        RANVIER_NAMES: '8',
      };
      const { stdout } = await fixture.run('env', { env });
      expect(stdout).to.include.members(Object.entries(env).map(([name, value]) => `${name}=${value}`));
    });

    it('leaves no process of a command that ends, however it hid', async () => {
      const { outcome, stdout } = await fixture.run(SCATTER);
      expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 0 });
      expect(stdout).to.deep.equal(['started']);
    });

    it('ends the whole tree at the time-out, and lets the command finish on TERM', async () => {
      const { outcome, stdout } = await fixture.run(
        `trap 'echo bye; exit 0' TERM; ${SCATTER}; sleep 300 & wait`,
        {},
        {
          timeoutMs: 3_000,
        },
      );
      expect(outcome).to.deep.equal({ reason: 'timeout' });
      expect(stdout).to.deep.equal(['started', 'bye']);
    });

    it('kills what ignores TERM after the grace, and only then returns', async () => {
      const controller = new AbortController();
      const { outcome } = await fixture.run(
        `trap '' TERM; ${SCATTER}; while :; do sleep 1; done`,
        {},
        {
          signal: controller.signal,
          graceMs: 200,
          onLine: () => controller.abort(),
        },
      );
      expect(outcome).to.deep.equal({ reason: 'aborted' });
      expect(await fixture.left()).to.deep.equal([]);
    });

    it('is aborted at any moment while it is made', async () => {
      for (let ms = 0; ms < 60; ms += 3) {
        const { outcome } = await fixture.run('sleep 300', {}, { signal: AbortSignal.timeout(ms), graceMs: 200 });
        expect(outcome, `after ${ms} ms`).to.deep.equal({ reason: 'aborted' });
      }
    });

    it('starts nothing when it is aborted before', async () => {
      const { outcome, stdout } = await fixture.run('echo x', {}, { signal: AbortSignal.abort() });
      expect(outcome).to.deep.equal({ reason: 'aborted' });
      expect(stdout).to.deep.equal([]);
    });

    it('holds the output back while a line is being taken, and keeps memory bounded over 100 MB of it', async function () {
      this.timeout(240_000);
      let lines = 0;
      let bytes = 0;
      const before = process.memoryUsage().rss;
      let most = before;
      const { outcome } = await fixture.run(
        `head -c 104857600 /dev/zero | tr '\\0' x | fold -w 1023`,
        {},
        {
          timeoutMs: 100_000,
          onLine: async (line) => {
            bytes += line.length + 1;
            if (++lines % 1000 > 0) return;
            most = Math.max(most, process.memoryUsage().rss);
            await sleep(0);
          },
        },
      );
      expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 0 });
      expect(bytes).to.be.within(104_857_600, 104_857_600 + 110_000);
      expect(most - before).to.be.lessThan(80 * 1024 * 1024);
    });

    it('a line taken with an error ends the command and rejects', async () => {
      const failed = await fixture
        .run('while :; do echo x; done', {}, { onLine: () => Promise.reject(new Error('the log is full')) })
        .catch((error: Error) => error.message);
      expect(failed).to.equal('the log is full');
    });

    it('bounds a fork bomb', async function () {
      // Without its own user, the bomb would use up the process limit of the platform's user.
      if (level === 'none') this.skip();
      const { outcome } = await fixture.run(
        'bomb() { bomb | bomb & }; bomb; sleep 1; exit 0',
        {},
        {
          timeoutMs: 3_000,
          graceMs: 200,
        },
      );
      expect(['exited', 'timeout', 'signalled']).to.include(outcome.reason);
    });

    it('ends a command that uses too much memory, and names the cause', async () => {
      const { outcome } = await fixture.run(`node -e 'const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1))'`);
      if (level !== 'root') expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 1 });
      else expect(outcome).to.deep.equal({ reason: 'out-of-memory' });
    });

    it('names the cause also if only a child was killed and the command then failed', async function () {
      if (level !== 'root') this.skip();
      const { outcome } = await fixture.run(
        `node -e 'const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1))' || { echo "the build failed"; exit 1; }`,
      );
      expect(outcome).to.deep.equal({ reason: 'out-of-memory' });
    });

    it('limits the size of a file', async () => {
      const limits = { memoryMb: 256, cpu: 1, pids: 64, fileSizeMb: 1 };
      const { outcome } = await fixture.run('head -c 3000000 /dev/zero >big', { limits });
      expect(outcome).to.not.deep.equal({ reason: 'exited', exitCode: 0 });
    });

    it('nothing lives on when the worker is killed', async () => {
      const worker = fork(fileURLToPath(new URL('./killed-worker.js', import.meta.url)), [fixture.dataDir, level]);
      await once(worker, 'message');
      expect(await fixture.left()).to.not.deep.equal([]);
      worker.kill('SIGKILL');
      await once(worker, 'exit');
      // Without a namespace, only the next sweep ends what left the process group.
      if (level !== 'root') await fixture.sandbox.sweep(async () => () => true);
      while ((await fixture.left()).length > 0) await sleep(20);
    });

    it('refuses an id that is a path to another folder', async () => {
      const failed = await fixture.run('true', { id: '../x' }).catch((error: Error) => error.message);
      expect(failed).to.equal('"../x" cannot name a sandbox');
    });

    if (level === 'none') return;

    it('runs as an unprivileged user that can gain nothing', async () => {
      const { stdout } = await fixture.run('id -u; id -G; grep -E "^(NoNewPrivs|CapBnd|CapEff)" /proc/self/status');
      const uid = String(level === 'root' ? uidOf(USER) : process.getuid?.());
      expect(stdout).to.deep.equal([
        uid,
        uid,
        'CapEff:\t0000000000000000',
        'CapBnd:\t0000000000000000',
        'NoNewPrivs:\t1',
      ]);
    });

    it('gets no descriptor of the platform, and no contexts of asynchronous I/O', async () => {
      const list = `perl -e 'opendir D, "/proc/self/fd"; print join(" ", sort { $a <=> $b } grep { /^[0-9]+$/ && $_ != fileno D } readdir D), "\\n"'`;
      const ioSetup = process.arch === 'x64' ? 206 : 0;
      const contexts = `perl -e 'my $c = pack "Q", 0; my $r = syscall(${ioSetup}, 1, $c); print "$r ", $! + 0, "\\n"'`;
      const { stdout } = await fixture.run(`${list}; ${contexts}`);
      expect(stdout).to.deep.equal(['0 1 2', '-1 38']);
    });

    it('has few pseudo-terminals of its own, and does not see the links of others', async () => {
      const open = `perl -e 'my @held; while (@held < 200 && open my $f, "+<", "/dev/ptmx") { push @held, $f } print scalar(@held), "\\n"'`;
      const { stdout } = await fixture.run(`${open}; ls /sys/class/net /sys/devices/virtual/net | grep -c rv`);
      expect(Number(stdout[0])).to.be.within(1, 64);
      expect(stdout[1]).to.equal('0');
    });

    it('has devices of its own, and reads no figures of neighbours', async () => {
      const lines = [
        'echo $(ls /dev)',
        // A program reads its memory limit in its own control groups. The groups around them are hidden.
        `find /sys/fs/cgroup -name 'memory.*usage_in_bytes' -o -name memory.current | sed 's,/[^/]*$,,' | sort -u | wc -l`,
        'cat /proc/keys /proc/interrupts /proc/timer_list 2>/dev/null | wc -c',
        'ls /sys/firmware /sys/kernel/slab /sys/class/net 2>/dev/null | grep -v : | wc -w',
        'echo $(($(stat -f -c "%b * %S" /dev/shm) / 1048576))',
        'echo gone >/dev/null; head -c 4 /dev/zero | wc -c',
        `node -p 'process.constrainedMemory() / 1048576'`,
      ];
      const usual = 'fd full null ptmx pts random shm stderr stdin stdout tty urandom zero';
      const { stdout } = await fixture.run(lines.join('; '));
      const counted = Number(stdout[1]) > 0;
      expect(stdout.slice(0, 6)).to.deep.equal([usual, counted ? '1' : '0', '0', '0', '256', '4']);
      if (counted) expect(stdout[6]).to.equal('256');
    });

    it("cannot read the platform's secrets, root's folder, or another service's", async () => {
      const secret = join(fixture.dataDir, 'credentials.json');
      await writeFile(secret, 'secret', { mode: 0o600 });
      const other = join(fixture.dataDir, 'other-service');
      await mkdir(other, { mode: 0o700 });
      await writeFile(join(other, 'file'), 'secret');
      await ownDirectory(other, USER + 1);
      const { stdout } = await fixture.run(
        `for path in ${secret} ${other}/file /root/.bashrc /etc/shadow; do cat "$path" >/dev/null 2>&1 && echo "$path"; done; ls /root 2>/dev/null; true`,
      );
      expect(stdout).to.deep.equal([]);
    });

    it('the end of a sandbox does not wait until the disk has written what others wrote', async () => {
      const image = join(fixture.dataDir, 'image-volatile');
      await mkdir(image);
      await chmod(image, 0o755);
      const { stdout } = await fixture.run(`grep '^overlay /mnt/app ' /proc/mounts`, { image });
      expect(stdout.join()).to.match(/[ ,](?:fsync=)?volatile[ ,]/);
    });

    it('does not write into an image', async () => {
      const image = join(fixture.dataDir, `image-${level}`);
      await mkdir(join(image, 'node_modules'), { recursive: true });
      await writeFile(join(image, 'file'), 'original\n');
      await chmod(image, 0o755);
      const { outcome, stdout } = await fixture.run(
        'cat file; echo changed >file; echo new >new; cat file; touch node_modules/x',
        {
          image,
        },
      );
      expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 0 });
      expect(stdout).to.deep.equal(['original', 'changed']);
      expect(await readFile(join(image, 'file'), 'utf8')).to.equal('original\n');
    });

    it('writes to the caches it was given, at their own path', async () => {
      const cache = join(fixture.dataDir, `cache-${level}`);
      await mkdir(cache);
      await ownDirectory(cache, USER);
      const { outcome } = await fixture.run('echo kept >"$CACHE/file"', { writable: [cache], env: { CACHE: cache } });
      expect(outcome).to.deep.equal({ reason: 'exited', exitCode: 0 });
      expect(await readFile(join(cache, 'file'), 'utf8')).to.equal('kept\n');
    });
  });
}

describe('Containers', () => {
  let fixture: SandboxFixture;
  before(async function () {
    if (LEVELS[0] === 'none') this.skip();
    fixture = await SandboxFixture.create(LEVELS[0]);
  });
  after(() => fixture?.destroy());

  it('show the same path, only own processes, and a user with a name', async () => {
    const { stdout } = await fixture.run(
      'pwd; ls -d /proc/[0-9]* | wc -l; node -p "os.userInfo().username"; ls -A /tmp /var/tmp /dev/shm /run /home 2>/dev/null | grep -v : | grep .',
    );
    const [path, processes, name, ...rest] = stdout;
    expect(path).to.equal('/mnt/app');
    expect(Number(processes)).to.be.lessThan(8);
    expect(name).to.equal('app');
    // A resolver's configuration in /run stays visible.
    expect(rest.filter((entry) => !/^(systemd|resolv|resolvconf|NetworkManager)/.test(entry))).to.deep.equal([]);
  });
});

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { removeCgroups } from './cgroups.js';
import { eventually } from './processes.js';

const run = promisify(execFile);
const SYSTEMD = '/lib/systemd/systemd';
const BOOT = fileURLToPath(new URL('../../../test/support/systemd-host.sh', import.meta.url));

/** A host in namespaces on which a real systemd runs. Its /tmp and its network are those of this machine. */
export class SystemdHost {
  readonly #folder: string;
  readonly #process: ChildProcess;
  #pid = '';

  private constructor(folder: string) {
    this.#folder = folder;
    const stdio = ['ignore', 'pipe', 'inherit'] as const;
    this.#process = spawn('/bin/sh', [BOOT, folder, basename(folder)], { stdio: [...stdio] });
  }

  /** Whether this machine can have one: that needs root and the package systemd. */
  static isPossible(): Promise<boolean> {
    return access(SYSTEMD).then(
      () => process.getuid?.() === 0,
      () => false,
    );
  }

  static async boot(): Promise<SystemdHost> {
    const host = new SystemdHost(await mkdtemp(join(tmpdir(), 'ranvier-systemd-')));
    await eventually('systemd runs', async () => {
      const { stdout } = await run('pgrep', ['-P', String(host.#process.pid), '-x', 'systemd']);
      host.#pid = stdout.trim();
      const { stdout: state } = await host.run('systemctl', 'is-system-running').catch((error) => error);
      return ['running', 'degraded'].includes(state.trim());
    });
    return host;
  }

  /** Runs a command on the host. Rejects with its output if it fails. */
  run(...command: string[]): Promise<{ stdout: string; stderr: string }> {
    const inside = ['--mount', '--pid', '--uts', '--ipc', '--cgroup', '--root', '--wd'];
    const env = { PATH: process.env.PATH ?? '', HOME: '/root', LANG: 'C.UTF-8' };
    return run('nsenter', ['--target', this.#pid, ...inside, ...command], { env, maxBuffer: 10_000_000 });
  }

  /** Ends all its processes and removes what it wrote, except to /tmp. */
  async stop(): Promise<void> {
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exit;
    await removeCgroups(basename(this.#folder));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

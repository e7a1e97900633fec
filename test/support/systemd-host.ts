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
const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));
const BOOT = join(CHECKOUT, 'test/support/systemd-host.sh');

/** A host in namespaces on which a real systemd runs. One link connects it to this machine. */
export class SystemdHost {
  readonly #folder: string;
  readonly #process: ChildProcess;
  #pid = '';
  /** Its address for this machine. */
  address = '';

  private constructor(folder: string, shared: readonly string[]) {
    this.#folder = folder;
    this.#process = spawn('/bin/sh', [BOOT, folder, basename(folder), ...shared], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  /** Returns false without root or without systemd. */
  static isPossible(): Promise<boolean> {
    return access(SYSTEMD).then(
      () => process.getuid?.() === 0,
      () => false,
    );
  }

  /** `shared` are folders below /tmp that the host has in common with this machine. */
  static async boot(shared: readonly string[]): Promise<SystemdHost> {
    // The host has its own /tmp, but needs a checkout that is in ours. Node.js is a part of the checkout.
    const checkout = CHECKOUT.startsWith(`${tmpdir()}/`) ? [CHECKOUT] : [];
    const host = new SystemdHost(await mkdtemp(join(tmpdir(), 'ranvier-systemd-')), [...shared, ...checkout]);
    await eventually('systemd runs', async () => {
      const { stdout } = await run('pgrep', ['-P', String(host.#process.pid), '-x', 'systemd']);
      host.#pid = stdout.trim();
      const { stdout: state } = await host.run('systemctl', 'is-system-running').catch((error) => error);
      return ['running', 'degraded'].includes(state.trim());
    });
    await host.#connect();
    return host;
  }

  /** Links the host to this machine, with addresses from the range for network tests (RFC 2544). */
  async #connect(): Promise<void> {
    const number = Number(this.#pid);
    const [ours, theirs] = [1, 2].map((last) => `198.18.${(number >> 6) & 255}.${(number & 63) * 4 + last}`);
    const link = `rvs${number}`;
    await run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'up0', 'netns', this.#pid]);
    await run('ip', ['address', 'add', `${ours}/30`, 'dev', link]);
    await run('ip', ['link', 'set', link, 'up']);
    await this.run('ip', 'address', 'add', `${theirs}/30`, 'dev', 'up0');
    await this.run('ip', 'link', 'set', 'up0', 'up');
    this.address = theirs ?? '';
  }

  run(...command: string[]): Promise<{ stdout: string; stderr: string }> {
    const inside = ['--mount', '--pid', '--uts', '--ipc', '--net', '--cgroup', '--root', '--wd'];
    const env = { PATH: process.env.PATH ?? '', HOME: '/root', LANG: 'C.UTF-8' };
    return run('nsenter', ['--target', this.#pid, ...inside, ...command], { env, maxBuffer: 10_000_000 });
  }

  /** Ends all processes of the host, and removes what it wrote outside of shared folders. */
  async stop(): Promise<void> {
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exit;
    await removeCgroups(basename(this.#folder));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

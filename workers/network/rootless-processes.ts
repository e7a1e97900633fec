import { type StdioOptions, spawn } from 'node:child_process';
import { open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning, type ProcessIdentity } from '../../shared/core/process-identity.js';
import { signalProcess } from '../../shared/core/signal-process.js';
import { SYSTEM_PATH } from '../core/command-wrappers.js';
import { withFileLock } from '../core/file-lock.js';
import { MARKER, markedProcesses } from '../sandbox/process-table.js';
import { launched } from '../sandbox/sandbox-child.js';
import { answered, endGroup, groupOf } from './detached-child.js';
import { HOLD, UPLINK } from './network-scripts.js';
import { UPLINK_SOCKET } from './slirp-api.js';
import { SlotFiles } from './slot-files.js';

export const UPLINK_NAME = 'tap0';
const LOCK_MS = 30_000;

interface State {
  holder: ProcessIdentity;
  uplink: (ProcessIdentity & { args: string }) | null;
}

interface Options {
  folder: string;
  token: string;
  /** Arguments of slirp4netns, which is restarted if they change. */
  uplink: readonly string[];
}

/**
 * Manages the two processes of a rootless network: one keeps the parent namespace open, and slirp4netns connects that
 * namespace to the host's network. Both outlive the worker, and the next worker adopts them. All workers of one
 * DATA_DIR share them.
 */
export class RootlessProcesses {
  readonly #options: Options;
  readonly #slots: SlotFiles;
  #state: State | null = null;
  #ensuring: Promise<boolean> | null = null;

  constructor(options: Options) {
    this.#options = options;
    this.#slots = new SlotFiles(options.folder);
  }

  /** Throws if `ensure` has not been called yet. */
  get holder(): number {
    if (this.#state === null) throw new Error('the network of this host is not made yet');
    return this.#state.holder.pid;
  }

  async hasUplink(): Promise<boolean> {
    return this.#state !== null && this.#state.uplink !== null && (await isRunning(this.#state.uplink));
  }

  /** Empties the log, to which slirp4netns adds a line for each request. */
  async trimLog(): Promise<void> {
    await truncate(this.#log).catch(() => undefined);
  }

  /**
   * Starts those of the two processes that do not run. Resolves to true if a process has changed. A call during another
   * call gets its result.
   */
  ensure(): Promise<boolean> {
    this.#ensuring ??= this.#ensure().finally(() => {
      this.#ensuring = null;
    });
    return this.#ensuring;
  }

  async end(): Promise<void> {
    await this.#locked(async () => {
      if ((await this.#slots.all()).length > 0) return;
      const state = await this.#read();
      if (state !== null) await this.#kill(state);
      await this.#killStrays(null);
      for (const name of ['rootless.json', UPLINK_SOCKET, 'uplink.log', 'alive']) {
        await rm(join(this.#options.folder, name), { force: true });
      }
      this.#state = null;
    });
  }

  async #ensure(): Promise<boolean> {
    if (await this.#isWhole(this.#state)) return false;
    return this.#locked(async () => {
      let state = await this.#read();
      if (await this.#isWhole(state)) {
        this.#state = state;
        return true;
      }
      if (state === null || !(await isRunning(state.holder))) {
        if (state !== null) await this.#kill(state);
        await this.#killStrays(null);
        await this.#killSandboxes();
        state = { holder: await this.#startHolder(), uplink: null };
        await this.#write(state);
      } else {
        if (state.uplink !== null) await endGroup(state.uplink);
        await this.#killStrays(state.holder.pid);
      }
      this.#state = { ...state, uplink: await this.#startUplink(state.holder.pid) };
      await this.#write(this.#state);
      return true;
    });
  }

  async #isWhole(state: State | null): Promise<boolean> {
    if (state?.uplink?.args !== this.#options.uplink.join(' ')) return false;
    return (await isRunning(state.holder)) && (await isRunning(state.uplink));
  }

  #startHolder(): Promise<ProcessIdentity> {
    const own = ['--user', '--map-root-user', '--net', '--mount', '--propagation', 'private'];
    return this.#start(['unshare', ...own, '--', '/bin/sh', '-c', HOLD, 'network', this.#options.folder], 'unshare');
  }

  async #startUplink(holder: number): Promise<ProcessIdentity & { args: string }> {
    const { folder, uplink } = this.#options;
    await rm(join(folder, UPLINK_SOCKET), { force: true });
    const fixed = ['--ready-fd=3', '--exit-fd=4', `--api-socket=${UPLINK_SOCKET}`, String(holder), UPLINK_NAME];
    const started = await this.#start(['/bin/sh', '-c', UPLINK, 'network', ...uplink, ...fixed], 'slirp4netns');
    return { ...started, args: uplink.join(' ') };
  }

  /** The program outlives this process. It writes to descriptor 3 when it is ready. */
  async #start([file = '', ...args]: readonly string[], name: string): Promise<ProcessIdentity> {
    await rm(this.#log, { force: true });
    const log = await open(this.#log, 'a', 0o600);
    try {
      const env = { PATH: SYSTEM_PATH, LANG: 'C', [MARKER]: this.#mark };
      const stdio: StdioOptions = ['ignore', log.fd, log.fd, 'pipe'];
      const options = { cwd: this.#options.folder, env, stdio, detached: true };
      const { child, pid, startedAt } = await launched(spawn(file, args, options));
      child.unref();
      await answered(child, name, this.#log);
      return { pid, startedAt };
    } finally {
      await log.close();
    }
  }

  /** A sweep of sandboxes does not kill processes with this value of `MARKER` in their environment. */
  get #mark(): string {
    return `network:${this.#options.token}`;
  }

  get #log(): string {
    return join(this.#options.folder, 'uplink.log');
  }

  async #kill({ holder, uplink }: State): Promise<void> {
    for (const found of [holder, uplink]) if (found !== null) await endGroup(found);
  }

  /** Kills processes that are not recorded because a worker was killed just after it started them. */
  async #killStrays(except: number | null): Promise<void> {
    for (const pid of (await markedProcesses(this.#mark)).keys()) {
      if (except === null || (await groupOf(pid)) !== except) signalProcess(pid, 'SIGKILL');
    }
  }

  /** Nothing can reach the sandboxes after the holder of their networks has died. The supervisor restarts them. */
  async #killSandboxes(): Promise<void> {
    const { token } = this.#options;
    const cutOff = await this.#slots.all();
    for (const slot of cutOff) if (slot.entry) await this.#slots.change({ ...slot, entry: null });
    const marks = new Set(cutOff.map(({ id }) => `${token}:${id}`));
    for (const [pid, mark] of await markedProcesses(`${token}:`)) if (marks.has(mark)) signalProcess(pid, 'SIGKILL');
  }

  async #read(): Promise<State | null> {
    const found = await readFile(this.#stateFile, 'utf8').catch(() => '');
    return found === '' ? null : (JSON.parse(found) as State);
  }

  async #write(state: State): Promise<void> {
    await writeFile(`${this.#stateFile}.new`, JSON.stringify(state), { mode: 0o600 });
    await rename(`${this.#stateFile}.new`, this.#stateFile);
  }

  get #stateFile(): string {
    return join(this.#options.folder, 'rootless.json');
  }

  /** Prevents other workers on this host from starting or stopping the two processes during `work`. */
  #locked<T>(work: () => Promise<T>): Promise<T> {
    return withFileLock(join(this.#options.folder, 'rootless.lock'), AbortSignal.timeout(LOCK_MS), work);
  }
}

import { createInterface } from 'node:readline';
import type { Logger } from '../core/log.js';
import { spawnTethered, type Tethered } from './tethered-child.js';

export interface ProcfileLine {
  name: string;
  command: string;
}

/** Parses the `name: command` lines of a Procfile. Throws for any other line, except comments and empty lines. */
export function parseProcfile(text: string): ProcfileLine[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, command] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? [];
      if (name === undefined || command === undefined) throw new Error(`Procfile: "${line}" is not "name: command"`);
      return { name, command };
    });
}

/** Makes a simple command replace its shell, so that the command itself receives signals. */
function inPlace(command: string): string {
  return /[;&|]/.test(command) ? command : `exec env ${command}`;
}

export interface RunnerOptions {
  env: NodeJS.ProcessEnv;
  cwd: string;
  log: Logger;
  write: (name: string, line: string) => void;
  /** Called when the process is not restarted any more, because it keeps exiting right after its start. */
  onGivenUp: (error: Error) => void;
  /**
   * Seconds from the stop signal to SIGKILL. `orphanSeconds` applies if the launcher was killed; the database then
   * stops at the same time.
   */
  graceSeconds: number;
  orphanSeconds: number;
  /** A text on the watcher's command line, by which a later start finds leftover processes. */
  label: string;
}

const AT_ONCE_MS = 5000;
const MAX_QUICK_ENDS = 5;
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;

/** Keeps the process of one Procfile line running. If it exits unexpectedly, restarts it with increasing delays. */
export class SupervisedProcess {
  readonly #line: ProcfileLine;
  readonly #options: RunnerOptions;
  #running: Tethered | null = null;
  #timer: NodeJS.Timeout | null = null;
  #starting: Promise<void> = Promise.resolve();
  #quickEnds = 0;
  #stopping = false;

  constructor(line: ProcfileLine, options: RunnerOptions) {
    this.#line = line;
    this.#options = options;
  }

  start(): void {
    this.#starting = this.#run().catch((error: Error) => this.#options.onGivenUp(error));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#starting;
    const running = this.#running;
    if (!running) return;
    // SIGINT makes a worker also stop the processes that it hosts, because the whole platform stops.
    running.kill('SIGINT');
    const timer = setTimeout(() => {
      this.#options.log.warn({ process: this.#line.name }, 'did not end in time and is killed');
      running.killGroup();
    }, this.#options.graceSeconds * 1000);
    await running.ended;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { env, cwd, orphanSeconds, label, write, log } = this.#options;
    const { name, command } = this.#line;
    const startedAt = performance.now();
    const child = await spawnTethered(['/bin/sh', '-c', inPlace(command)], {
      stopSignal: 'TERM',
      orphanSeconds,
      label,
      env,
      cwd,
    });
    log.debug({ process: name, pid: child.pid }, 'started');
    this.#running = child;
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => write(name, line));
    }
    void child.ended.then((end) => {
      this.#running = null;
      if (!this.#stopping) this.#startAgain(end, performance.now() - startedAt);
    });
  }

  #startAgain(end: string, livedMs: number): void {
    const { log, onGivenUp } = this.#options;
    const { name, command } = this.#line;
    this.#quickEnds = livedMs < AT_ONCE_MS ? this.#quickEnds + 1 : 0;
    if (this.#quickEnds >= MAX_QUICK_ENDS) {
      onGivenUp(
        new Error(`${name} (${command}) ended ${this.#quickEnds} times right after its start, at last with ${end}`),
      );
      return;
    }
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** this.#quickEnds, MAX_WAIT_MS);
    log.error({ process: name, end, waitMs }, `${name} ended by itself; starting it again`);
    this.#timer = setTimeout(() => this.start(), waitMs);
  }
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { withTimeLimit } from '../../shared/core/time-limit.js';

/** Below the ports that the kernel gives to outgoing connections, which could take one before its server listens. */
const FIRST_PORT = 10_000;
const PORTS = 10_000;
/** Ports of one test process. Processes have different ids, and so different ports. */
const PORTS_OF_PROCESS = 100;
/** `fetch` and browsers refuse to connect to this one. */
const REFUSED_PORT = 10_080;
let chosen = 0;

/** Returns different ports of 127.0.0.1 on which nothing listens. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  const first = FIRST_PORT + ((process.pid * PORTS_OF_PROCESS) % PORTS);
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === PORTS_OF_PROCESS) throw new Error(`${PORTS_OF_PROCESS} ports from ${first} on are in use`);
    const port = first + (chosen++ % PORTS_OF_PROCESS);
    if (port !== REFUSED_PORT && (await isFree(port))) ports.push(port);
  }
  return ports;
}

/** Tests all addresses, because Redis, Caddy and the API do not all listen on 127.0.0.1. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port);
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/** Default timeout of `eventually`. It is long, because a busy machine may delay everything by a minute. */
const WITHIN_MS = 120_000;
/** The polling interval begins short, because most conditions hold at once, and grows to save processor time. */
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;

/** Polls until the condition returns a truthy value, and returns it. Throws with the last error or value. */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  withinMs = WITHIN_MS,
  maxPauseMs = MAX_PAUSE_MS,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  let last: unknown;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)) {
    try {
      const left = Math.max(deadline - Date.now(), FIRST_PAUSE_MS);
      const value = await withTimeLimit(Promise.resolve(condition()), left, () => new Error(`${last}, then no answer`));
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() >= deadline) throw new Error(`not within ${withinMs} ms: ${what} (last: ${String(last)})`);
    await delay(pauseMs);
  }
}

/** Returns the command lines of all processes that contain this text; '' if there is none. */
export async function processesWith(text: string): Promise<string> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args'], { maxBuffer: 1 << 24 });
  const lines = stdout.split('\n').filter((line) => line.includes(text));
  return lines.join('\n');
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A process of the platform under test, with its output. */
export class PlatformProcess {
  readonly child: ChildProcess;
  readonly name: string;
  output = '';

  constructor(name: string, command: string, args: readonly string[], env: Record<string, string>, detached = false) {
    this.name = name;
    this.child = spawn(command, args, { env, detached, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk) => {
        this.output = (this.output + chunk).slice(-200_000);
      });
    }
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Waits until the condition holds. Throws at once if the process ends; kills it if the condition takes too long. */
  async ready(condition: () => Promise<boolean>): Promise<void> {
    await eventually(`${this.name} is ready`, async () => {
      if (this.ended) return 'ended';
      return condition();
    }).catch((error) => {
      this.child.kill('SIGKILL');
      throw new Error(`${error.message}\n${this.output}`);
    });
    if (this.ended) throw new Error(`${this.name} ended with code ${this.child.exitCode}:\n${this.output}`);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Sends the signal and waits for the end. Sends SIGKILL after the timeout. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', withinMs = 30_000): Promise<void> {
    if (this.ended) return;
    const exit = once(this.child, 'exit');
    this.child.kill(signal);
    const timer = setTimeout(() => this.child.kill('SIGKILL'), withinMs);
    await exit;
    clearTimeout(timer);
  }
}

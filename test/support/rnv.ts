import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineNode } from './machine-node.js';
import { DIST } from './platform.js';

/** `rnv` runs on its user's Node.js, which may be older than the platform's. */
const { file: NODE } = await machineNode();
const MAIN = join(DIST, 'api/cli/main.js');
/** A command that hangs fails its test and not the whole run. */
const TIMEOUT_MS = 120_000;

export interface RnvResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RnvOptions {
  input?: string;
  cwd?: string;
  env?: Record<string, string>;
}

/** Runs `rnv` for a user with an own home folder. */
export class Rnv {
  readonly home: string;

  private constructor(home: string) {
    this.home = home;
  }

  static async create(): Promise<Rnv> {
    return new Rnv(await mkdtemp(join(tmpdir(), 'ranvier-rnv-')));
  }

  get settingsFile(): string {
    return join(this.home, 'ranvier/rnv.json');
  }

  /** Starts `rnv` with pipes, as a script would. */
  start(args: readonly string[], { cwd = this.home, env = {} }: RnvOptions = {}): ChildProcess {
    return spawn(NODE, [MAIN, ...args], { cwd, env: this.#environment(env), timeout: TIMEOUT_MS });
  }

  command(args: readonly string[], env: Record<string, string>) {
    return { command: NODE, args: [MAIN, ...args], env: this.#environment(env) };
  }

  run(args: readonly string[], options: RnvOptions = {}): Promise<RnvResult> {
    const child = this.start(args, options);
    child.stdin?.end(options.input ?? '');
    return resultOf(child);
  }

  /** Runs `rnv` in a pseudo-terminal, where stderr is a part of stdout. Types each answer after its text was shown. */
  terminal(args: readonly string[], answers: readonly [shown: string, typed: string][], options: RnvOptions = {}) {
    const command = [NODE, MAIN, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const child = spawn('script', ['-qefc', `stty cols 100 rows 30; exec ${command}`, '/dev/null'], {
      cwd: options.cwd ?? this.home,
      env: this.#environment({ TERM: 'xterm', ...options.env }),
      timeout: TIMEOUT_MS,
    });
    const left = [...answers];
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      const [next] = left;
      if (!next || !shown.includes(next[0])) return;
      left.shift();
      shown = '';
      child.stdin.write(next[1]);
    });
    return resultOf(child);
  }

  async remove(): Promise<void> {
    await rm(this.home, { recursive: true, force: true });
  }

  #environment(env: Record<string, string>): Record<string, string> {
    return { PATH: process.env.PATH ?? '', HOME: this.home, XDG_CONFIG_HOME: this.home, ...env };
  }
}

export const hasScript = (() => {
  try {
    return execFileSync('script', ['--version'], { stdio: 'pipe' }).includes('util-linux');
  } catch {
    return false;
  }
})();

export function resultOf(child: ChildProcess): Promise<RnvResult> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  child.stdin?.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const text = (chunks: Buffer[]) => Buffer.concat(chunks).toString();
      resolve({ code: code ?? -1, stdout: text(out), stderr: text(err) });
    });
  });
}

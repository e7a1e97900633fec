import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import Mocha from 'mocha';

const LISTED = 10;
/** Files that take longer are recorded as slow. */
const SLOW_MS = 4_000;
const { EVENT_HOOK_END, EVENT_TEST_END, EVENT_RUN_END } = Mocha.Runner.constants;

/**
 * Extends Mocha's default reporter by the slowest files. In a parallel run, Mocha reports all events of a file at once,
 * so a file's time is the sum of its tests and hooks.
 */
export default class SlowestFiles extends Mocha.reporters.Spec {
  readonly #milliseconds = new Map<string, number>();

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const add = ({ file, duration = 0 }: Mocha.Runnable) => {
      if (file) this.#milliseconds.set(file, (this.#milliseconds.get(file) ?? 0) + duration);
    };
    runner.on(EVENT_TEST_END, add);
    runner.on(EVENT_HOOK_END, add);
    runner.once(EVENT_RUN_END, () => this.#print());
  }

  #print(): void {
    if (this.#milliseconds.size < 2) return;
    const files = [...this.#milliseconds].sort(([, a], [, b]) => b - a);
    const lines = files.slice(0, LISTED).map(([file, ms]) => `  ${seconds(ms)}  ${relative(process.cwd(), file)}`);
    const record = process.env.SLOWEST_FIRST;
    if (record) {
      const slow = files.filter(([, ms]) => ms > SLOW_MS).map(([file]) => nameOf(file));
      const ran = new Set(files.map(([file]) => nameOf(file)));
      const others = (JSON.parse(readFileSync(record, 'utf8')) as string[]).filter((name) => !ran.has(name));
      writeFileSync(record, `${JSON.stringify([...slow, ...others], null, 2)}\n`);
    }
    const total = files.reduce((sum, [, ms]) => sum + ms, 0);
    Mocha.reporters.Base.consoleLog(
      `  The slowest of ${files.length} files (${seconds(total)} in all):\n${lines.join('\n')}\n`,
    );
  }
}

function nameOf(file: string): string {
  return relative('dist/test', file).replace(/\.test\.js$/, '');
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1).padStart(6)} s`;
}

import { AppError } from '../../shared/core/errors.js';

export interface TurnLimits {
  /** Requests of one workspace that run at the same time. */
  each: number;
  /** Requests of all that run at the same time. */
  all: number;
  /** Requests of one workspace that wait; another one is refused. */
  waiting: number;
}

interface Line {
  running: number;
  waiting: (() => void)[];
}

/**
 * Lets few requests of one workspace run at once in this process, so that one workspace cannot hold all connections to the
 * database. Those that wait keep their order; the workspaces take turns.
 */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #lines = new Map<string, Line>();
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Resolves when it is this request's turn, with how to end it. Throws rate_limited if too many wait already. */
  async take(key: string): Promise<() => void> {
    const line = this.#lines.get(key) ?? { running: 0, waiting: [] };
    this.#lines.set(key, line);
    if (line.waiting.length >= this.#limits.waiting) {
      throw new AppError(
        'rate_limited',
        'Too many requests of this workspace wait already; retry when they have answers',
      );
    }
    await new Promise<void>((resolve) => {
      line.waiting.push(resolve);
      this.#begin();
    });
    return () => this.#end(key, line);
  }

  #begin(): void {
    const { each, all } = this.#limits;
    for (const [key, line] of this.#lines) {
      if (this.#running >= all) return;
      if (line.running >= each) continue;
      const next = line.waiting.shift();
      if (!next) continue;
      line.running += 1;
      this.#running += 1;
      // A workspace that had a turn goes behind the others.
      this.#lines.delete(key);
      this.#lines.set(key, line);
      next();
    }
  }

  #end(key: string, line: Line): void {
    line.running -= 1;
    this.#running -= 1;
    if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(key);
    this.#begin();
  }
}

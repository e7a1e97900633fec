import { FairPlaces } from './fair-places.js';

export interface TurnLimits {
  /** Maximum number of concurrent requests per workspace. */
  each: number;
  /** Maximum number of concurrent requests of all workspaces. */
  all: number;
  /** Maximum number of waiting requests per workspace. Further requests are refused. */
  waiting: number;
  /** Maximum number of waiting requests of all workspaces; unlimited if absent. */
  waitingOfAll?: number;
}

interface Line {
  running: number;
  waiting: (() => void)[];
}

/** Limits the concurrent requests of each workspace, which could otherwise use all database connections. */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #places: FairPlaces;
  readonly #lines = new Map<string, Line>();
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
    this.#places = new FairPlaces({ each: limits.waiting, all: limits.waitingOfAll ?? Number.POSITIVE_INFINITY });
  }

  /**
   * Waits for the request's turn, and returns a function that ends it. Throws rate_limited if too many requests wait.
   */
  async take(key: string): Promise<() => void> {
    const line = this.#lines.get(key) ?? { running: 0, waiting: [] };
    const { each, all } = this.#limits;
    if (this.#running < all && line.running < each && line.waiting.length === 0) this.#run(key, line);
    else await this.#wait(key, line);
    return () => this.#end(key, line);
  }

  #wait(key: string, line: Line): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        leave();
        resolve();
      };
      const leave = this.#places.take(key, (reason) => {
        line.waiting.splice(line.waiting.indexOf(start), 1);
        this.#forget(key, line);
        reject(reason);
      });
      line.waiting.push(start);
      this.#lines.set(key, line);
    });
  }

  #begin(): void {
    const { each, all } = this.#limits;
    for (const [key, line] of this.#lines) {
      if (this.#running >= all) return;
      if (line.running >= each) continue;
      const next = line.waiting.shift();
      if (!next) continue;
      this.#run(key, line);
      next();
    }
  }

  #run(key: string, line: Line): void {
    line.running += 1;
    this.#running += 1;
    // Moves the workspace to the end of the map, because workspaces get their turns in the order of the map.
    this.#lines.delete(key);
    this.#lines.set(key, line);
  }

  #end(key: string, line: Line): void {
    line.running -= 1;
    this.#running -= 1;
    this.#forget(key, line);
    this.#begin();
  }

  #forget(key: string, line: Line): void {
    if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(key);
  }
}

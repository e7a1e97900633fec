import { AppError } from '../../shared/core/errors.js';

/** Hashing a password takes 32 MiB and, for a quarter of a second, one of the four threads that file and DNS calls share. */
const AT_ONCE = 2;
const WAITING = { ofAll: 64, ofOne: 8 };

/** Limits how many passwords are hashed at the same time, and how many wait. */
export class HashGate {
  readonly #queue: { client: string; start: () => void }[] = [];
  #running = 0;

  /** Runs the work in its turn. Throws rate_limited if too many wait, in total or of this client. */
  async run<T>(client: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= AT_ONCE) await this.#turn(client);
    else this.#running++;
    try {
      return await work();
    } finally {
      // The next waiting work takes over this place, so the count stays.
      const next = this.#queue.shift();
      if (next) next.start();
      else this.#running--;
    }
  }

  async #turn(client: string): Promise<void> {
    const ofOne = this.#queue.filter((waiting) => waiting.client === client).length;
    if (this.#queue.length >= WAITING.ofAll || ofOne >= WAITING.ofOne) throw new AppError('rate_limited');
    await new Promise<void>((start) => this.#queue.push({ client, start }));
  }
}

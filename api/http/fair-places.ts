import { AppError } from '../../shared/core/error-registry.js';

/** Limits concurrent callers. If all places are taken, the largest group loses its newest place to a smaller group. */
export class FairPlaces {
  readonly #limits: { each: number; all: number };
  /** Group → the `lose` callbacks of its places, oldest first. */
  readonly #groups = new Map<string, Set<(reason: AppError) => void>>();
  #taken = 0;

  constructor(limits: { each: number; all: number }) {
    this.#limits = limits;
  }

  /**
   * Takes a place, and returns a function that releases it. Calls `lose` if the place is given to another group. Throws
   * rate_limited if the group can get no place.
   */
  take(group: string, lose: (reason: AppError) => void): () => void {
    const places = this.#groups.get(group) ?? new Set();
    const full = this.#taken >= this.#limits.all;
    if (places.size >= this.#limits.each || (full && !this.#makeRoom(places.size + 1))) throw tooMany();
    // A set holds a function only once, and callers may pass the same `lose` twice.
    const place = (reason: AppError) => lose(reason);
    this.#groups.set(group, places.add(place));
    this.#taken += 1;
    return () => this.#giveBack(group, place);
  }

  /** Revokes a place of the largest group. Returns false if no group has more than `size` places. */
  #makeRoom(size: number): boolean {
    let [largest, most]: [string | null, number] = [null, size];
    for (const [group, places] of this.#groups) if (places.size > most) [largest, most] = [group, places.size];
    const newest = largest === null ? undefined : [...(this.#groups.get(largest) ?? [])].at(-1);
    if (largest === null || newest === undefined) return false;
    this.#giveBack(largest, newest);
    newest(tooMany());
    return true;
  }

  #giveBack(group: string, place: (reason: AppError) => void): void {
    const places = this.#groups.get(group);
    if (!places?.delete(place)) return;
    this.#taken -= 1;
    if (places.size === 0) this.#groups.delete(group);
  }
}

function tooMany(): AppError {
  return new AppError('rate_limited', 'Too many requests wait already or are under way; retry when they have answers');
}

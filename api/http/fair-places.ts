import { AppError } from '../../shared/core/errors.js';

/**
 * A bounded number of places that groups share fairly. If all are taken, the group with the most loses its newest place to a newcomer
 * of a group that stays smaller with it. So a large group that comes first does not keep others out.
 */
export class FairPlaces {
  readonly #limits: { each: number; all: number };
  /** The places of each group, oldest first: how each learns that it is lost. */
  readonly #groups = new Map<string, Set<(reason: AppError) => void>>();
  #taken = 0;

  constructor(limits: { each: number; all: number }) {
    this.#limits = limits;
  }

  /** Returns how to give the place back. `lose` is called if it goes to another group. Throws rate_limited. */
  take(group: string, lose: (reason: AppError) => void): () => void {
    const places = this.#groups.get(group) ?? new Set();
    const full = this.#taken >= this.#limits.all;
    if (places.size >= this.#limits.each || (full && !this.#makeRoom(places.size + 1))) throw tooMany();
    // Each place is a function of its own, so that a set tells two of them apart.
    const place = (reason: AppError) => lose(reason);
    this.#groups.set(group, places.add(place));
    this.#taken += 1;
    return () => this.#giveBack(group, place);
  }

  /** False if no group has more places than a newcomer's group would have. */
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

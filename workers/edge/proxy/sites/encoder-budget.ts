/** Each encoder needs up to 2 MB, more than everything else that a request needs. */
const MAX_ENCODERS = 64;
const MAX_ENCODERS_PER_CLIENT = 16;

/** Limits how many responses are compressed at the same time, in total and per client. */
export class EncoderBudget {
  readonly #byClient = new Map<string, number>();
  #total = 0;

  take(client: string): (() => void) | null {
    const own = this.#byClient.get(client) ?? 0;
    if (this.#total >= MAX_ENCODERS || own >= MAX_ENCODERS_PER_CLIENT) return null;
    this.#total += 1;
    this.#byClient.set(client, own + 1);
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.#total -= 1;
      const left = (this.#byClient.get(client) ?? 1) - 1;
      if (left === 0) this.#byClient.delete(client);
      else this.#byClient.set(client, left);
    };
  }
}

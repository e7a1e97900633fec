interface Amount {
  bytes: number;
  lines: number;
}

/** One replica may print `rate` per second, and up to `burst` at once if it has printed little before. */
const REPLICA = { rate: { bytes: 256 * 1024, lines: 1000 }, burst: { bytes: 32 * 1024 * 1024, lines: 40_000 } };
/** The limit for all busy replicas of a host together, so that the database has time for other work. */
const HOST = { rate: { bytes: 4 * 1024 * 1024, lines: 5000 }, burst: { bytes: 64 * 1024 * 1024, lines: 60_000 } };
/**
 * A replica that has exceeded its rate by less than this is not busy: its output does not count towards the host's
 * limit.
 */
const ORDINARY: Amount = { bytes: 1024 * 1024, lines: 5000 };

/** Storing fewer lines at once would not be worth a transaction. */
const MIN_LINES = 200;

/** A token bucket of bytes and lines. */
class Bucket {
  readonly #rate: Amount;
  readonly #burst: Amount;
  #left: Amount;
  #grantedAt = Date.now();

  constructor({ rate, burst }: { rate: Amount; burst: Amount }) {
    this.#rate = rate;
    this.#burst = burst;
    this.#left = { ...burst };
  }

  /** Returns what is left; negative if more was taken than was available. */
  left(): Amount {
    const now = Date.now();
    const seconds = Math.max(0, now - this.#grantedAt) / 1000;
    this.#grantedAt = now;
    const grant = (unit: keyof Amount) => Math.min(this.#burst[unit], this.#left[unit] + seconds * this.#rate[unit]);
    this.#left = { bytes: grant('bytes'), lines: grant('lines') };
    return this.#left;
  }

  taken(): Amount {
    const { bytes, lines } = this.left();
    return { bytes: this.#burst.bytes - bytes, lines: this.#burst.lines - lines };
  }

  take({ bytes, lines }: Amount): void {
    this.#left = { bytes: this.#left.bytes - bytes, lines: this.#left.lines - lines };
  }

  /** Returns the time until there are bytes again and at least `MIN_LINES` lines. */
  waitMs(): number {
    const { bytes, lines } = this.left();
    const seconds = Math.max(-bytes / this.#rate.bytes, (MIN_LINES - lines) / this.#rate.lines);
    return Math.max(0, Math.ceil(seconds * 1000));
  }
}

/** All busy replicas of one host share this bucket. */
export class HostAllowance extends Bucket {
  constructor() {
    super(HOST);
  }
}

/** Limits how much output one replica may add to the log at the moment. */
export class LogAllowance {
  readonly #own = new Bucket(REPLICA);
  readonly #host: HostAllowance;

  constructor(host = new HostAllowance()) {
    this.#host = host;
  }

  get open(): boolean {
    return this.lines() >= MIN_LINES;
  }

  /** Returns how many lines are left; 0 if no bytes are left. */
  lines(): number {
    const own = this.#own.left();
    const host = this.#isOrdinary() ? own : this.#host.left();
    if (own.bytes <= 0 || host.bytes <= 0) return 0;
    return Math.max(0, Math.floor(Math.min(own.lines, host.lines)));
  }

  take(bytes: number, lines: number): void {
    if (!this.#isOrdinary()) this.#host.take({ bytes, lines });
    this.#own.take({ bytes, lines });
  }

  waitMs(): number {
    return this.#isOrdinary() ? this.#own.waitMs() : Math.max(this.#own.waitMs(), this.#host.waitMs());
  }

  #isOrdinary(): boolean {
    const { bytes, lines } = this.#own.taken();
    return bytes < ORDINARY.bytes && lines < ORDINARY.lines;
  }
}

import type { Db } from '../../shared/db/client.js';
import { type Claim, renewClaim } from '../../shared/db/deployments.js';
import { CHANNELS, type Listener } from '../../shared/db/listener.js';
import { errorMessage } from '../../shared/errors.js';
import type { Logger } from '../../shared/log.js';
import { Interrupted } from '../interrupted.js';

/** A worker's hold lasts this long without renewal; the reconciler leaves a held record alone. */
export const LEASE_SECONDS = 10;
const RENEW_MS = 2000;

/**
 * Keeps a claim while its deployment runs, and aborts the work when the cancellation is requested or the claim is lost.
 * The cancel doorbell makes it quick, the renewal makes it certain.
 */
export class ClaimWatch {
  readonly #db: Db;
  readonly #claim: Claim;
  readonly #log: Logger;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribe: () => void;

  constructor(db: Db, listener: Listener, claim: Claim, log: Logger) {
    this.#db = db;
    this.#claim = claim;
    this.#log = log;
    this.#timer = setInterval(() => void this.#look(), RENEW_MS);
    this.#unsubscribe = listener.on(CHANNELS.cancel, (id) => {
      if (id === null || id === claim.id) void this.#look();
    });
  }

  /** Aborts with `Interrupted`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#unsubscribe();
  }

  async #look(): Promise<void> {
    try {
      const held = await renewClaim(this.#db, this.#claim, LEASE_SECONDS);
      if (!held) this.#controller.abort(new Interrupted('superseded'));
      else if (held.cancelRequested) this.#controller.abort(new Interrupted('cancelled'));
    } catch (error) {
      // The fence guards every write, so work may go on while the database is away.
      this.#log.warn(`cannot renew the claim: ${errorMessage(error)}`);
    }
  }
}

import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import { AppError } from '../../shared/core/error-registry.js';
import { receiptTotals } from '../../shared/receipts/store.js';

/** Limits per workspace. A receipt is kept for 24 hours. */
const LIMITS = { count: 100_000, bytes: 128 * 1024 * 1024 };
/** How long a workspace's totals are reused. */
const COUNTED_MS = 10_000;
const WORKSPACES = 10_000;

interface Totals {
  at: number;
  count: number;
  bytes: number;
}

/** Limits the stored receipts of a workspace. Beyond the limit, writes with an Idempotency-Key are refused. */
export class ReceiptQuota {
  readonly #limits: { count: number; bytes: number };
  readonly #totals = new Map<string, Totals>();

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /** Throws rate_limited if the workspace has too many receipts. */
  async assertRoom(trx: Transaction, workspaceId: string): Promise<void> {
    const { count, bytes } = await this.#totalsOf(trx, workspaceId);
    if (count < this.#limits.count && bytes < this.#limits.bytes) return;
    throw new AppError(
      'rate_limited',
      'The workspace has too many answers retained for their Idempotency-Key; send no key, or wait until some are 24 hours old',
    );
  }

  add(workspaceId: string, bytes: number): void {
    const totals = this.#totals.get(workspaceId);
    if (!totals) return;
    totals.count++;
    totals.bytes += bytes;
  }

  async #totalsOf(db: Db, workspaceId: string): Promise<Totals> {
    const known = this.#totals.get(workspaceId);
    if (known && performance.now() - known.at < COUNTED_MS) return known;
    const totals = { at: performance.now(), ...(await receiptTotals(db, workspaceId)) };
    if (this.#totals.size >= WORKSPACES) this.#totals.clear();
    this.#totals.set(workspaceId, totals);
    return totals;
  }
}

import { randomUUID } from 'node:crypto';
import { type Db, rowCountOf } from '../../shared/core/database/database-client.js';
import { ReleaseError } from '../failures/explained-errors.js';

/**
 * These rows store the hold of a service. A hold reserves the service's volumes for one operation. A deleted volume is
 * held under its own id.
 */
const ROWS = [
  { table: 'data_servers', own: 'id = :serviceId' },
  { table: 'volumes', own: '(id = :serviceId or service_id = :serviceId and removed_at is null)' },
] as const;
const HOLD_SECONDS = 60;
const HOLD_RENEW_MS = 15_000;
const UNTIL = `now() + interval '${HOLD_SECONDS} seconds'`;
const HELD = ROWS.map(({ table, own }) => `select from ${table} where ${own} and held_until >= now()`).join(
  ' union all ',
);

/**
 * Holds a service, and returns the hold's token. Returns null if another operation holds the service, or if the service
 * has no volume.
 */
export async function takeHold(db: Db, serviceId: string): Promise<string | null> {
  const token = randomUUID();
  const set = `hold_token = :token, held_until = ${UNTIL}`;
  return (await change(db, set, '(held_until is null or held_until < now())', { serviceId, token })) ? token : null;
}

export function renewHold(db: Db, serviceId: string, token: string): Promise<boolean> {
  return change(db, `held_until = ${UNTIL}`, 'hold_token = :token and held_until >= now()', { serviceId, token });
}

export async function releaseHold(db: Db, serviceId: string, token: string): Promise<void> {
  await change(db, 'hold_token = null, held_until = null', 'hold_token = :token', { serviceId, token });
}

/** Holds a service or a deleted volume while `work` runs. Returns null if the service or volume cannot be held. */
export async function whileHeld<T>(
  db: Db,
  id: string,
  work: (lost: AbortSignal) => Promise<T>,
): Promise<{ result: T } | null> {
  const token = await takeHold(db, id);
  if (token === null) return null;
  const lost = new AbortController();
  const renewal = setInterval(() => {
    renewHold(db, id, token).then(
      (held) => held || lost.abort(new ReleaseError('the hold of the service was lost')),
      () => undefined,
    );
  }, HOLD_RENEW_MS);
  try {
    return { result: await work(lost.signal) };
  } finally {
    clearInterval(renewal);
    await releaseHold(db, id, token);
  }
}

/** Ends a hold whose operation another worker has taken over. The previous worker then aborts its work. */
export async function voidHold(db: Db, serviceId: string): Promise<void> {
  await change(db, 'hold_token = null, held_until = null', 'true', { serviceId });
}

/** Returns true while an operation works on the volume of a service. */
export async function isHeld(db: Db, serviceId: string): Promise<boolean> {
  return (await rowCountOf(db, HELD, { serviceId })) > 0;
}

async function change(
  db: Db,
  set: string,
  condition: string,
  bindings: { serviceId: string; token?: string },
): Promise<boolean> {
  const updates = ROWS.map(
    ({ table, own }) => `${table}_changed as (update ${table} set ${set} where ${own} and ${condition} returning 1)`,
  );
  const changed = ROWS.map(({ table }) => `select from ${table}_changed`).join(' union all ');
  return (await rowCountOf(db, `with ${updates.join(', ')} ${changed}`, bindings)) > 0;
}

import { setTimeout as delay } from 'node:timers/promises';
import { type Db, rowCountOf } from '../../shared/core/database/database-client.js';
import { hasOpenDeployment } from '../../shared/deployments/store.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { mountedReplicas } from '../replicas/store.js';
import { sandboxIdOf } from '../runtime/process/replica-sandbox.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { withHold } from '../volumes/hold-service.js';
import { isHeld } from '../volumes/holds.js';

/** Maximum time to wait until no deployment is in progress and nothing else holds the volumes, in milliseconds. */
const WAIT_MS = 120_000;
const POLL_MS = 1_000;
const RENEW_MS = 2_000;
const PAUSED_SECONDS = 15;

/** Runs `work` while all containers that mount a service's volumes are paused. Throws `ReleaseError`. */
export async function whilePaused<T>(
  { db, sandbox }: { db: Db; sandbox: Pick<Sandbox, 'pause'> },
  serviceId: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    // A deployment in progress may start a replica, which would fail while the volumes are held.
    if (!(await hasOpenDeployment(db, serviceId)) && !(await isHeld(db, serviceId))) {
      const outcome = await withHold(db, serviceId, async (lost) => {
        if (await hasOpenDeployment(db, serviceId)) return null;
        return { result: await pause({ db, sandbox }, serviceId, AbortSignal.any([signal, lost]), work) };
      });
      if (outcome !== null) return outcome.result;
    }
    if (Date.now() > deadline)
      throw new ReleaseError('a deployment of it is under way, or somebody else works on its volume; try again later');
    await delay(POLL_MS, undefined, { signal });
  }
}

async function pause<T>(
  { db, sandbox }: { db: Db; sandbox: Pick<Sandbox, 'pause'> },
  serviceId: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const replicas = await mountedReplicas(db, serviceId);
  const ids = replicas.map(({ id }) => id);
  const stopping = new AbortController();
  const mark = async () => {
    if ((await markPaused(db, ids, PAUSED_SECONDS)) < ids.length) {
      stopping.abort(new ReleaseError('its container was to stop while it was paused; try again'));
    }
  };
  await mark();
  const renewal = setInterval(() => void mark().catch(() => undefined), RENEW_MS);
  const either = AbortSignal.any([signal, stopping.signal]);
  const paused = await Promise.allSettled(
    // Frozen containers need no pause. They are marked as paused too, so that no request thaws them.
    replicas.filter(({ state }) => state !== 'frozen').map((row) => sandbox.pause(sandboxIdOf(row))),
  );
  try {
    for (const one of paused) if (one.status === 'rejected') throw one.reason;
    either.throwIfAborted();
    return await work(either);
  } finally {
    clearInterval(renewal);
    await Promise.allSettled(paused.map((one) => (one.status === 'fulfilled' ? one.value.resume() : undefined)));
    await markPaused(db, ids, null);
  }
}

/** Marks replicas as paused; null removes the mark. Skips replicas that are to stop. Returns how many it changed. */
function markPaused(db: Db, ids: readonly string[], seconds: number | null): Promise<number> {
  return rowCountOf(
    db,
    `update replicas set paused_until = now() + cast(:seconds as integer) * interval '1 second' where id = any(:ids) and desired = 'running'`,
    { ids, seconds },
  );
}

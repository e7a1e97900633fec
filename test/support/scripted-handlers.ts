import type { WorkKind } from '../../shared/engine/kind.js';
import { KINDS, type QueueName } from '../../shared/queues/work-catalog.js';
import { perform } from '../../workers/engine/perform-record.js';
import type { JobHandler, JobHandlers } from '../../workers/engine/worker-pool.js';
import { done, type Row } from './work-records.js';

type Act = (id: string, signal: AbortSignal) => Promise<unknown>;

/** Returns handlers for all queues. Each calls `act` with a record's id, and then ends the record. */
export function scriptedHandlers(act: Act): JobHandlers {
  const handlers: Partial<Record<QueueName, JobHandler<QueueName>>> = {};
  for (const kind of KINDS as readonly WorkKind[]) {
    for (const queue of Object.keys(kind.queues)) handlers[queue as QueueName] = scripted(kind, act);
  }
  return handlers as JobHandlers;
}

function scripted(kind: WorkKind, act: Act): JobHandler<QueueName> {
  return async (deps, payload, helpers) => {
    const id = (payload as Record<string, string>)[kind.payload] ?? '';
    if (kind.lease === null) {
      await act(id, helpers.signal);
      // Work without a lease ends with one statement: log batches are deleted, other records are marked as finished.
      const open = deps.db(kind.table).where({ id });
      return (await (kind.table === 'log_batches'
        ? open.delete()
        : open.whereNull('finished_at').update({ finished_at: deps.db.fn.now() }))) === 1
        ? 'succeeded'
        : 'nothing to do';
    }
    let acted = false;
    const run: Parameters<typeof perform<Row>>[1]['run'] = async (work) => {
      if (!acted) await act(id, work.signal);
      acted = true;
      return done(work);
    };
    return perform<Row>(deps, { kind, run }, id, helpers);
  };
}

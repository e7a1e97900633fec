import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { findDataServer } from '../../shared/data/store.js';
import {
  abandonReplacement,
  beginReplacement,
  dropReplacement,
  finishReplacement,
  restartInPlace,
} from '../replicas/replacement-store.js';
import type { ReplicaRow } from '../replicas/rows.js';
import {
  planReplacements,
  type ReplacementAction,
  replacementDelayMs,
  replacementMessage,
} from './plan-replacements.js';
import type { ReplicaRuntimeDeps } from './replica-runtime-deps.js';

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'config' | 'logs' | 'log'>;

const STOP_SLACK_MS = 1_000;

/** Applies the decisions of `planReplacements` to a host's replicas. The service's log explains each action. */
export async function applyReplacements(
  deps: Deps,
  all: readonly ReplicaRow[],
  hasRoom: (row: ReplicaRow) => Promise<boolean>,
): Promise<void> {
  // The controller of a hanging database server restarts the server itself.
  const servers = await dataServersAmong(deps.db, all);
  const rows = all.filter((row) => row.volume_id === null || !servers.has(row.volume_id));
  const now = Date.now();
  const cramped = new Set<string>();
  for (const row of rows) {
    const isDue = row.replace_at !== null && row.replace_at.getTime() <= now && row.desired === 'running';
    // Two replicas never use a volume at once.
    if (isDue && (row.volume_id !== null || !(await fits(deps, row, hasRoom)))) cramped.add(row.id);
  }
  const startMs = deps.config.releaseTimeoutSeconds * 1000;
  for (const action of planReplacements(rows, { now, startMs, hasRoom: ({ id }) => !cramped.has(id) })) {
    try {
      await apply(deps, action);
    } catch (error) {
      const { id } = action.type === 'drop' ? action.successor : action.failing;
      deps.log.warn({ replica: id, err: error }, `a replica was not replaced: ${errorMessage(error)}`);
    }
  }
}

async function dataServersAmong(db: Db, rows: readonly ReplicaRow[]): Promise<Set<string>> {
  const ids = rows.flatMap(({ volume_id, replace_at }) => (replace_at === null ? [] : (volume_id ?? [])));
  const known = await Promise.all(ids.map((id) => findDataServer(db, id)));
  return new Set(known.flatMap((server) => server?.id ?? []));
}

async function fits({ log }: Deps, row: ReplicaRow, hasRoom: (row: ReplicaRow) => Promise<boolean>): Promise<boolean> {
  try {
    return await hasRoom(row);
  } catch (error) {
    log.warn({ replica: row.id, err: error }, `a replica is not replaced beside it: ${errorMessage(error)}`);
    return false;
  }
}

async function apply({ db, config, logs }: Deps, action: ReplacementAction): Promise<boolean> {
  const now = Date.now();
  const retryMs =
    action.type === 'abandon'
      ? replacementDelayMs(config.healthReplaceSeconds * 1000, action.failing.replacements + 1)
      : 0;
  const log = async (trx: Transaction) => {
    if (action.type === 'drop') return;
    const { service_id: serviceId, deployment_id: deploymentId } = action.failing;
    const level = action.type === 'finish' ? ('info' as const) : ('warn' as const);
    const message = replacementMessage(action, now, retryMs);
    const lines = [{ level, message, timestamp: new Date(now).toISOString() }];
    await logs.append({ serviceId, deploymentId, source: 'system', lines }, trx);
  };
  switch (action.type) {
    case 'begin':
      return beginReplacement(db, action.failing, log);
    case 'restartInPlace': {
      const startAt = new Date(now + config.stopGraceSeconds * 1000 + STOP_SLACK_MS);
      return restartInPlace(db, action.failing, startAt, log);
    }
    case 'finish':
      return finishReplacement(db, action.failing, action.successor, log);
    case 'abandon':
      return abandonReplacement(db, action.failing, action.successor, new Date(now + retryMs), log);
    case 'drop':
      return dropReplacement(db, action.successor);
  }
}

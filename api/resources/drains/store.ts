import type { Knex } from 'knex';
import { v7 as uuidv7 } from 'uuid';
import { assertRoom } from '../../../shared/core/database/assert-room.js';
import { type Db, returnedRow, type Transaction } from '../../../shared/core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../../../shared/core/database/page.js';
import { invalidRequest } from '../../../shared/core/error-registry.js';
import { type DrainSignal, endpointProblem, MAX_DRAINS, reservedHeader } from '../../../shared/drains/model.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import { SEALED, sealIn } from '../../../shared/secrets/sealed-columns.js';

/** A drain with the signals that it sends (logs, metrics, traces). The delivery states of the signals are combined. */
export interface DrainView {
  id: string;
  service_id: string | null;
  name: string;
  endpoint: string;
  header_names: string[];
  created_at: Date;
  signals: DrainSignal[];
  sent_at: Date | null;
  error: string;
  behind_since: Date | null;
  dropped_lines: number;
}

export interface NewDrain {
  workspaceId: string;
  serviceId: string | null;
  name: string;
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  signals: readonly DrainSignal[];
}

/**
 * Creates a drain, which sends only data recorded from now on. Throws invalid_request for an invalid field, and
 * capacity_exceeded if the workspace has too many drains.
 */
export async function createDrain(
  trx: Transaction,
  { keyring, config }: CommandDeps,
  { workspaceId, serviceId, name, endpoint, headers, signals }: NewDrain,
): Promise<DrainView> {
  const problem = endpointProblem(endpoint, config.allowLocalRepositories);
  if (problem !== null) throw invalidRequest('/endpoint', problem);
  const reserved = reservedHeader(headers);
  if (reserved !== undefined) throw invalidRequest(`/headers/${reserved}`, 'is set by the platform');
  if (serviceId !== null && !(await hasService(trx, workspaceId, serviceId))) {
    throw invalidRequest('/serviceId', 'is no service of this workspace');
  }
  await assertRoom(trx, 'drains', workspaceId, MAX_DRAINS);
  const id = uuidv7();
  const names = Object.keys(headers).sort();
  const sealed_headers = names.length === 0 ? null : sealIn(keyring, SEALED.drainHeaders, id, JSON.stringify(headers));
  const place = { workspace_id: workspaceId, service_id: serviceId };
  await trx('drains').insert({ id, ...place, name, endpoint, sealed_headers, header_names: names });
  await trx('drain_signals').insert([...new Set(signals)].map((signal) => ({ drain_id: id, signal })));
  await trx.raw(
    `insert into drain_lines (drain_id, service_id, last_id)
     select ?, c.service_id, c.last_id from log_counters c join services s on s.id = c.service_id where s.workspace_id = ?`,
    [id, workspaceId],
  );
  return returnedRow(await views(trx, workspaceId).where('d.id', id).first());
}

async function hasService(trx: Transaction, workspaceId: string, id: string): Promise<boolean> {
  const row = await trx('services').where({ id, workspace_id: workspaceId }).whereNull('deleted_at').first('id');
  return row !== undefined;
}

function views(db: Db, workspaceId: string): Knex.QueryBuilder<DrainView> {
  return db('drains as d')
    .joinRaw(
      `cross join lateral (
         select array_agg(signal order by signal) as signals, max(sent_at) as sent_at, min(behind_since) as behind_since,
                coalesce(string_agg(signal || ': ' || error, '; ' order by signal) filter (where error <> ''), '') as error,
                coalesce(sum(dropped) filter (where signal = 'logs'), 0)::bigint as dropped_lines
           from drain_signals where drain_id = d.id) g`,
    )
    .where('d.workspace_id', workspaceId)
    .select('d.id', 'd.service_id', 'd.name', 'd.endpoint', 'd.header_names', 'd.created_at', 'g.*');
}

export async function listDrains(db: Db, workspaceId: string, page: PageRequest): Promise<Page<DrainView>> {
  return fetchPage(views(db, workspaceId), 'd', page);
}

export async function findDrain(db: Db, workspaceId: string, id: string): Promise<DrainView | undefined> {
  return views(db, workspaceId).where('d.id', id).first();
}

export async function deleteDrain(trx: Transaction, workspaceId: string, id: string): Promise<boolean> {
  return (await trx('drains').where({ id, workspace_id: workspaceId }).delete()) > 0;
}

import { type Db, rowsOf, type Transaction } from '../../shared/core/database/database-client.js';
import { servesRoute } from '../../shared/routing/store.js';
import type { Attempt } from './rows.js';

export interface HostPort {
  port: number;
  user_number: number;
  /**
   * True if every hosted process on the host may connect, because a database server that asks for a password has the
   * port.
   */
  open: boolean;
}

/** Returns the host's ports that replicas use. */
export function hostPortsOf(db: Db, hostId: string): Promise<HostPort[]> {
  return rowsOf(
    db,
    `select r.port, s.user_number, s.kind in ('postgres', 'redis') as open from replicas r join services s on s.id = r.service_id
      where r.host_id = ? and r.port is not null and r.task_id is null and r.address = '127.0.0.1' and r.state <> 'stopped' order by r.port`,
    [hostId],
  );
}

/** For how many seconds at most a released port stays reserved if an edge does not acknowledge the new route. */
const REST_SECONDS = 120;

/** Returns released ports to which an edge without the new route may still send visitors. */
export async function restingPorts(db: Db, hostId: string): Promise<number[]> {
  const rows = await rowsOf<{ port: number }>(
    db,
    `select port from resting_ports p
      where host_id = ? and released_at > now() - make_interval(secs => ${REST_SECONDS})
        and exists (select from edges e
                     where e.seen_at > now() - make_interval(secs => ${REST_SECONDS})
                       and not ${servesRoute('p.service_id', 'p.route_version')})`,
    [hostId],
  );
  return rows.map(({ port }) => port);
}

/** Keeps a replica's released port reserved until every edge has the service's current route. */
export async function restPort(trx: Transaction, { host_id, service_id }: Attempt, port: number): Promise<void> {
  await trx.raw(
    `insert into resting_ports (host_id, port, service_id, route_version)
     select ?, ?, id, route_version from services where id = ?
     on conflict (host_id, port) do update
       set service_id = excluded.service_id, route_version = excluded.route_version, released_at = now()`,
    [host_id, port, service_id],
  );
  await trx.raw(
    `delete from resting_ports where host_id = ? and released_at < now() - make_interval(secs => ${REST_SECONDS})`,
    [host_id],
  );
}

import { type Db, oneValue } from '../core/database/database-client.js';
import { CHANNELS } from '../core/database/listener.js';

/** Notifies the edges that a service's route has changed. Returns the route version that they must apply. */
export async function publishRouteChange(trx: Db, serviceId: string): Promise<number> {
  const version = await oneValue<number>(
    trx,
    `update services set route_version = nextval('route_versions'), updated_at = now() where id = ? returning route_version`,
    [serviceId],
  );
  await trx.raw('select pg_notify(?, ?)', [CHANNELS.route, serviceId]);
  return version ?? 0;
}

import type { Db } from '../../shared/core/database/database-client.js';
import { createKey } from '../../shared/identity/commands.js';
import { upsertMembership } from '../../shared/identity/store.js';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import { MANIFEST } from '../support/fixtures.js';
import { FIRST_PORT } from './fleet-host.js';

/** Adds workspaces with live services, each with one ready replica that has no host yet. */
export async function addServices(db: Db, workspaces: number, services: number): Promise<void> {
  const configuration = JSON.stringify({ ...DEFAULT_CONFIGURATION, repository: 'https://example.test/a/b.git' });
  await db.transaction(async (trx) => {
    await trx.raw(`insert into workspaces (id, name) select gen_random_uuid(), 'W' from generate_series(1, ?)`, [
      workspaces,
    ]);
    await trx.raw(
      `create temporary table places on commit drop as
       select gen_random_uuid() as service_id, gen_random_uuid() as deployment_id, gen_random_uuid() as image_id,
              gen_random_uuid() as replica_id, n, (array(select id from workspaces where name = 'W'))[1 + n % cast(:workspaces as int)] as workspace_id
         from generate_series(1, cast(:services as int)) n`,
      { workspaces, services },
    );
    await trx.raw(
      `insert into services (id, workspace_id, name, slug, kind, configuration, lifecycle_status, health_status)
       select service_id, workspace_id, 's' || n, 'fleet-' || n, 'web', cast(? as jsonb), 'active', 'ready' from places`,
      [configuration],
    );
    await trx.raw(
      `insert into images (id, workspace_id, service_id, digest, manifest, size_bytes)
       select image_id, workspace_id, service_id, md5(n::text) || md5(n::text), cast(? as jsonb), 2048 from places`,
      [JSON.stringify(MANIFEST)],
    );
    await trx.raw(
      `insert into deployments (id, workspace_id, service_id, status, trigger, actor, configuration, image_id,
                                admitted_at, created_at, started_at, went_live_at, finished_at)
       select deployment_id, workspace_id, service_id, 'live', 'manual', 'bench', cast(? as jsonb), image_id,
              now(), now(), now(), now(), now() from places`,
      [configuration],
    );
    await trx.raw(
      `insert into replicas (id, service_id, deployment_id, host_id, position, state, port, ready_at, started_at)
       select replica_id, service_id, deployment_id, gen_random_uuid(), 1, 'ready', :port + n % 20000, now(), now() from places`,
      { port: FIRST_PORT },
    );
    await trx.raw(
      `update services s set live_deployment_id = p.deployment_id, route_version = nextval('route_versions')
         from places p where s.id = p.service_id`,
    );
  });
  await db.raw('vacuum analyze services, deployments, images, replicas, workspaces');
}

/** Gives every host that is online its share of the replicas. */
export async function spreadReplicas(db: Db): Promise<void> {
  await db.raw(
    `with hosts as (select array_agg(host_id order by host_id) as ids from workers where seen_at > now() - interval '15 seconds'),
          turns as (select id, row_number() over (order by id) as n from replicas where state = 'ready')
     update replicas r
        set host_id = h.ids[1 + t.n % cardinality(h.ids)], port = cast(:port as int) + t.n / cardinality(h.ids), updated_at = now()
       from turns t, hosts h where t.id = r.id`,
    { port: FIRST_PORT },
  );
  await db.raw('vacuum analyze replicas');
}

export interface Customer {
  workspaceId: string;
  key: string;
  services: string[];
}

/** Returns workspaces with a key each, and all their services. */
export async function customersOf(db: Db, count: number): Promise<Customer[]> {
  const email = 'owner@example.test';
  const user = await db('users').where({ email }).first('id');
  const workspaces = await db('workspaces').where({ name: 'W' }).limit(count).pluck<string[]>('id');
  const customers: Customer[] = [];
  for (const workspaceId of workspaces) {
    await db.transaction((trx) => upsertMembership(trx, { workspaceId, userId: user.id, role: 'owner' }));
    const { key } = await createKey(db, { workspaceId, email, scope: 'write', name: 'fleet', expiresAt: null });
    const services = await db('services').where({ workspace_id: workspaceId }).pluck<string[]>('id');
    customers.push({ workspaceId, key, services });
  }
  return customers;
}

import { randomUUID } from 'node:crypto';
import type { Db } from '../../../shared/core/database/database-client.js';
import { CHANNELS } from '../../../shared/core/database/listener.js';
import type { TestReplica } from './support.js';

export interface Service {
  id: string;
  slug: string;
}

/** Writes the records that the edge reads. */
export class Records {
  readonly #db: Db;
  readonly #workspaceId = randomUUID();

  constructor(db: Db) {
    this.#db = db;
  }

  async workspace(): Promise<void> {
    await this.#db('workspaces').insert({ id: this.#workspaceId, name: 'test', plan: 'free', configuration: {} });
  }

  async service(kind = 'web', configuration: object = {}): Promise<Service> {
    const id = randomUUID();
    const slug = `s-${id.slice(0, 8)}`;
    await this.#db('services').insert({ id, workspace_id: this.#workspaceId, name: slug, slug, kind, configuration });
    return { id, slug };
  }

  /** Makes a release with these ready replicas live. Returns the version of the routes that edges must reach. */
  release(service: Service, replicas: readonly TestReplica[]): Promise<number> {
    const ids = { workspace_id: this.#workspaceId, service_id: service.id };
    const manifest = { type: 'process', publishDirectory: '' };
    return this.#db.transaction(async (trx) => {
      const imageId = randomUUID();
      const deploymentId = randomUUID();
      await trx('images').insert({ id: imageId, ...ids, digest: 'd', manifest, size_bytes: 1 });
      await trx('deployments').insert({
        id: deploymentId,
        ...ids,
        status: 'live',
        finished_at: trx.fn.now(),
        trigger: 'api',
        actor: 'test',
        configuration: { cacheProfile: 'static' },
        image_id: imageId,
      });
      for (const [position, { address, port }] of replicas.entries()) {
        await trx('replicas').insert({
          id: randomUUID(),
          service_id: service.id,
          deployment_id: deploymentId,
          host_id: randomUUID(),
          position,
          state: 'ready',
          address,
          port,
        });
      }
      return this.#change(trx, service, { live_deployment_id: deploymentId, lifecycle_status: 'active' });
    });
  }

  change(service: Service, columns: object): Promise<number> {
    return this.#db.transaction((trx) => this.#change(trx, service, columns));
  }

  async #change(trx: Db, service: Service, columns: object): Promise<number> {
    const [row] = await trx('services')
      .where({ id: service.id })
      .update({ ...columns, route_version: trx.raw(`nextval('route_versions')`) })
      .returning('route_version');
    await trx.raw('select pg_notify(?, ?)', [CHANNELS.route, service.id]);
    return row.route_version;
  }
}

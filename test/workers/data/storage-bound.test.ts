import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { openPasswords, prepareDataServer } from '../../../shared/data/commands.js';
import { ADMIN_USER, storageBytes } from '../../../shared/data/model.js';
import { findDataServer } from '../../../shared/data/store.js';
import { databasePlanOf } from '../../../shared/services/plan-catalog.js';
import { settlePostgres } from '../../../workers/data/settle-postgres.js';
import { watchStorage } from '../../../workers/data/storage-watch.js';
import { folderBytes } from '../../../workers/volumes/folder-bytes.js';
import type { JobDeps } from '../../../workers/worker-deps.js';
import { startPostgresServer, type TestPostgres } from '../../support/data-servers.js';
import { makeService } from '../../support/factories.js';
import { pretendLive } from '../../support/records.js';
import { TestWorkshop } from '../../support/workshop.js';

/** Bytes that fill the storage of the plan in this test. Measured bytes are multiplied accordingly. */
const ROOM_BYTES = 24 * 1024 * 1024;
const ROWS = 200;

describe('The storage bound of a database that is filled', function () {
  this.timeout(180_000);
  let workshop: TestWorkshop;
  let server: TestPostgres;
  let deps: JobDeps;
  let serviceId: string;
  let deploymentId: string;
  let tenant: { user: string; password: string; database: string };
  let written = 0;

  before(async () => {
    workshop = await TestWorkshop.open();
    server = await startPostgresServer();
    const { db } = workshop.database;
    const service = await makeService(db, undefined, { plan: 'free', databaseVersion: '18' }, 'postgres');
    serviceId = service.id;
    await db.transaction((trx) => prepareDataServer(trx, workshop.keyring, service, service.configuration));
    deploymentId = await pretendLive(db, service.id, { configuration: service.configuration });
    const hostId = randomUUID();
    await db('data_servers').where({ id: serviceId }).update({ host_id: hostId, initialized_at: new Date() });
    const { host: address, port } = server.admin;
    const replica = { id: uuidv7(), service_id: serviceId, deployment_id: deploymentId, host_id: hostId };
    await db('replicas').insert({
      ...replica,
      generation: 1,
      position: 1,
      volume_id: serviceId,
      state: 'ready',
      address,
      port,
    });

    const row = await findDataServer(db, serviceId);
    if (!row) throw new Error('the service has no server');
    const { user: password, admin } = openPasswords(workshop.keyring, row);
    tenant = { user: row.user_name, password, database: row.database_name };
    const superuser = await server.connect();
    await superuser.query(`create role ${ADMIN_USER} superuser login`);
    await superuser.end();
    const { maxConnections } = databasePlanOf('free');
    await settlePostgres({ host: address, port, password: admin }, { ...tenant, maxConnections, state: 'open' });
    const empty = await measured();
    const factor = storageBytes('free') / (empty + ROOM_BYTES);
    const data = { hostId, measure: async () => Math.round((await measured()) * factor) };
    deps = { ...(await workshop.worker()), data: data as unknown as JobDeps['data'] };
  });
  after(async () => {
    await server?.stop();
    await workshop?.close();
  });

  const measured = () => folderBytes(server.dataFolder, ['pg_wal']);
  const connect = async () => {
    const client = new pg.Client({ host: server.admin.host, port: server.admin.port, ...tenant });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const code = async (work: Promise<unknown>) =>
    work.then(
      () => '',
      (error: { code?: string }) => error.code ?? String(error),
    );
  const state = async () => (await findDataServer(workshop.database.db, serviceId))?.storage_state;
  /** Writes as a tenant who overrides the default of transactions, until the state changes or a write is refused. */
  async function fill(until: string): Promise<void> {
    const client = await connect();
    while ((await state()) !== until) {
      await client.query('begin read write');
      await client.query(
        `insert into filler (body) select repeat(md5(random()::text), 100) from generate_series(1, ${ROWS})`,
      );
      await client.query('commit');
      written += ROWS;
      await watchStorage(deps);
    }
    await client.end().catch(() => undefined);
  }

  it('makes new transactions read-only first, and then lets nobody connect; a larger plan opens it, and no row is lost', async () => {
    const first = await connect();
    await first.query('create table filler (id bigserial primary key, body text)');
    // Uncompressed, so that the rows take as much room as their text.
    await first.query('alter table filler alter body set storage plain');
    await first.end();
    await fill('read_only');
    const reader = await connect();
    expect(await code(reader.query(`insert into filler (body) values ('x')`))).to.equal('25006');
    expect((await reader.query('select count(*)::int as rows from filler')).rows).to.deep.equal([{ rows: written }]);
    await reader.end();

    await fill('closed').catch(() => undefined);
    expect(await state()).to.equal('closed');
    expect(await code(connect())).to.equal('53300');
    const used = Number((await findDataServer(workshop.database.db, serviceId))?.used_bytes);
    // The test measures after each of these writes; workers measure every 20 s.
    expect(used / storageBytes('free')).to.be.within(1, 1.2);
    expect((await workshop.messages(deploymentId)).join('\n')).to.match(/takes 90 %[\s\S]*storage of the plan is full/);

    const configuration = {
      ...(await workshop.database.db('deployments').where({ id: deploymentId }).first()).configuration,
    };
    await workshop.database
      .db('deployments')
      .where({ id: deploymentId })
      .update({ configuration: { ...configuration, plan: 'starter' } });
    await watchStorage(deps);
    expect(await state()).to.equal('open');
    const again = await connect();
    const rows = Number((await again.query('select count(*) as rows from filler')).rows[0].rows);
    // The session of the last write was ended, so its row may be there although its answer is missing.
    expect(rows).to.be.within(written, written + ROWS);
    expect(await code(again.query(`insert into filler (body) values ('x')`))).to.equal('');
    await again.end();
    const superuser = await server.connect(tenant.database);
    await superuser.query('create extension amcheck');
    const check = `select bt_index_check(indexrelid, true) from pg_index where indrelid = 'filler'::regclass`;
    expect(await code(superuser.query(check))).to.equal('');
    await superuser.end();
  });
});

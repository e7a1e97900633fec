import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../../../../shared/core/error-registry.js';
import { eraseService } from '../../../../shared/lifecycle/store.js';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { insertService } from '../../../../shared/services/insert-service.js';
import {
  assertUserLeft,
  freeLostNumbers,
  MAX_USERS_OF_WORKSPACE,
  recordUsersInUse,
} from '../../../../shared/services/user-numbers.js';
import { makeDataServer, makeService, makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive } from '../../../support/records.js';

describe('The user of a service', () => {
  const database = useTestDatabase();
  const erase = (id: string) => database.db.transaction((trx) => eraseService(trx, id));
  const numberOf = async () => (await makeService(database.db)).user_number;

  async function rested() {
    const service = await makeService(database.db);
    await pretendLive(database.db, service.id);
    await erase(service.id);
    await database.db.raw(`update freed_user_numbers set free_from = free_from - interval '7 hours'`);
    return service;
  }

  it('does not return while a host has the volume of its service', async () => {
    const { db } = database;
    const { id, user_number } = await rested();
    await makeDataServer(db, id, { host_id: uuidv7() });
    expect(await numberOf()).to.not.equal(user_number);
    await db('data_servers').where({ id }).delete();
    expect(await numberOf()).to.equal(user_number);
  });

  it('does not return while a backup of its service is left', async () => {
    const { db } = database;
    const { id, user_number, workspace_id } = await rested();
    const backup = { id: uuidv7(), workspace_id, service_id: id, trigger: 'manual', deleted_at: new Date() };
    await db('backups').insert(backup);
    expect(await numberOf()).to.not.equal(user_number);
    await db('backups').where({ id: backup.id }).delete();
    expect(await numberOf()).to.equal(user_number);
  });

  it('is not lost if the slug of a new service is taken', async () => {
    const { id: workspaceId } = await makeWorkspace(database.db);
    const made: number[] = [];
    for (let round = 0; round < 5; round++) {
      const input = {
        id: uuidv7(),
        workspace_id: workspaceId,
        project_id: null,
        environment_id: null,
        name: 'Same',
        kind: 'web' as const,
        configuration: DEFAULT_CONFIGURATION,
        sealed_repository: null,
      };
      const row = await database.db.transaction((trx) => insertService(trx, input, new Set()));
      made.push(row.user_number);
    }
    expect(made.map((number) => number - (made[0] ?? 0))).to.deep.equal([0, 1, 2, 3, 4]);
  });

  it('returns at once if the service was never deployed, so that making and deleting services uses up none', async () => {
    const before = await numberOf();
    for (let round = 0; round < 20; round++) await erase((await makeService(database.db)).id);
    expect(await numberOf()).to.equal(before + 1);
  });

  it('returns hours after a service is gone that was deployed, and goes to one service', async () => {
    const { db } = database;
    const service = await makeService(db);
    await pretendLive(db, service.id);
    await erase(service.id);
    await erase(service.id);
    expect(await numberOf(), 'while something may be left on a host').to.be.greaterThan(service.user_number);
    await db.raw(`update freed_user_numbers set free_from = free_from - interval '6 hours'`);
    const numbers = await Promise.all(Array.from({ length: 4 }, numberOf));
    expect(new Set(numbers).size, 'no two share one').to.equal(4);
    expect(numbers.filter((number) => number === service.user_number)).to.have.length(1);
  });

  it('does not return before every host has looked for what it left', async () => {
    const { db } = database;
    const hosts = [uuidv7(), uuidv7()] as const;
    for (const host_id of hosts)
      await db('workers').insert({
        id: uuidv7(),
        host: 'h',
        host_id,
        pid: 1,
        version: '',
        queues: [],
        deploy_slots: 1,
      });
    await db('workers').delete();
    const { user_number } = await rested();
    const look = (host: string, found: number[]) => recordUsersInUse(db, host, async () => found);
    await look(hosts[0], []);
    expect(await numberOf(), 'the other host is away').to.not.equal(user_number);
    await look(hosts[1], [user_number]);
    expect(await numberOf(), 'a file is left there').to.not.equal(user_number);
    await db.raw(`update freed_user_numbers set free_from = free_from - interval '7 hours'`);
    await db.raw(`update user_number_hosts set looked_at = looked_at - interval '8 hours'`);
    expect(await numberOf(), 'nobody has looked since').to.not.equal(user_number);
    await recordUsersInUse(db, hosts[1], () => Promise.reject(new Error('no find'))).catch(() => undefined);
    await look(hosts[0], []);
    expect(await numberOf(), 'a look that failed is none').to.not.equal(user_number);
    await look(hosts[1], []);
    expect(await numberOf()).to.equal(user_number);
    await db('user_number_hosts').delete();
  });

  it('is found again if the request that took it failed, and no service has it twice', async () => {
    const { db } = database;
    const gone = await db
      .transaction(async (trx) => {
        await trx.raw('delete from freed_user_numbers');
        throw new Error(String((await makeService(trx)).user_number));
      })
      .catch((error: Error) => Number(error.message));
    const live = await numberOf();
    expect(await freeLostNumbers(db)).to.be.greaterThan(0);
    await db.raw(`update freed_user_numbers set free_from = free_from - interval '7 hours'`);
    expect(await freeLostNumbers(db)).to.equal(0);
    const numbers = await Promise.all(Array.from({ length: 4 }, numberOf));
    expect(numbers).to.include(gone).and.to.not.include(live);
    expect(new Set(numbers).size).to.equal(4);
  });

  it('is not given to a workspace that holds its part of all numbers', async () => {
    const { db } = database;
    const [full, other] = [await makeWorkspace(db), await makeWorkspace(db)];
    await db.raw(
      `insert into freed_user_numbers (number, workspace_id, free_from)
       select 1000000 + n, ?, now() + interval '1 hour' from generate_series(1, ?) n`,
      [full.id, MAX_USERS_OF_WORKSPACE],
    );
    const take = (id: string) => db.transaction((trx) => assertUserLeft(trx, id));
    await take(other.id);
    const refused = await take(full.id).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(AppError).with.property('code', 'capacity_exceeded');
    await db.raw(`delete from freed_user_numbers where number = 1000001`);
    await take(full.id);
  });
});

import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { expect } from 'chai';
import type { DataServerRow } from '../../../../shared/data/store.js';
import { ServerPorts } from '../../../../workers/data/server-ports.js';
import { makeDataServer, makeService } from '../../../support/factories.js';
import { messageOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { freePorts } from '../../../support/processes.js';

describe('The ports of data servers', () => {
  const database = useTestDatabase();
  const hostId = randomUUID();
  let first: number;
  let last: number;

  before(async () => {
    for (;;) {
      const [port = 0] = await freePorts(1);
      [first, last] = [port, port + 1];
      const server = await listen(last).catch(() => null);
      if (server === null) continue;
      await new Promise((done) => server.close(done));
      return;
    }
  });
  beforeEach(() => database.db.raw('truncate workspaces cascade'));

  function listen(port: number): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      server.once('error', reject).listen({ port, exclusive: true }, () => resolve(server));
    });
  }

  const ports = (ownNetworks = false) =>
    new ServerPorts({ db: database.db, config: { runtimePorts: { first, last } }, hostId, ownNetworks });

  async function makeServer(changes: Partial<DataServerRow> = {}): Promise<DataServerRow> {
    const { id } = await makeService(database.db, undefined, { plan: 'starter' }, 'redis');
    return makeDataServer(database.db, id, { host_id: hostId, ...changes });
  }
  const read = ({ id }: DataServerRow) => database.db<DataServerRow>('data_servers').where({ id }).first();
  const FREE = { inUse: [], resting: [] };

  it('of servers with a network of their own are the usual ones', async () => {
    const row = await makeServer();
    expect(await ports(true).claim(row, 'cache', FREE)).to.equal(6379);
    expect(await read(row)).to.include({ reach_host: 'cache', reach_port: 6379, host_port: null });
  });

  it('are kept for life, even while they rest', async () => {
    const row = await makeServer({ host_port: last });
    for (let i = 0; i < 3; i++) expect(await ports().claim(row, '', { inUse: [], resting: [last] })).to.equal(last);
    expect(await read(row)).to.include({ reach_host: '127.0.0.1', reach_port: last, host_port: last });
  });

  it('are others if a replica or another program has the kept one', async () => {
    const row = await makeServer({ host_port: last });
    expect(await ports().claim(row, '', { inUse: [last], resting: [] })).to.equal(first);
    const held = await makeServer({ host_port: last });
    await database.db('data_servers').where({ id: row.id }).update({ host_port: null });
    const program = await listen(last);
    try {
      expect(await ports().claim(held, '', FREE)).to.equal(first);
    } finally {
      program.close();
    }
  });

  it('are not those that other servers of the host keep while they are stopped, nor those that rest', async () => {
    const stopped = await makeServer({ host_port: first });
    await makeServer({ host_port: last, host_id: randomUUID() });
    expect(await ports().reserved()).to.deep.equal([first]);
    expect(await ports().reserved(stopped.id)).to.deep.equal([]);
    for (let i = 0; i < 3; i++) {
      const row = await makeServer();
      expect(await ports().claim(row, '', FREE)).to.equal(last);
      await database.db('data_servers').where({ id: row.id }).delete();
    }
    const claim = ports().claim(await makeServer(), '', { inUse: [], resting: [last] });
    expect(await messageOf(claim)).to.match(/no port from \d+ to \d+ is free/);
  });
});

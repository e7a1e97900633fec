import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { storageBytes } from '../../../../shared/data/model.js';
import { Keyring } from '../../../../shared/secrets/keyring.js';
import { ServerHealth } from '../../../../workers/data/server-health.js';
import type { ReleaseSpec } from '../../../../workers/runtime/runtime-driver.js';
import { makeDataServer, makeService } from '../../../support/factories.js';
import { listen } from '../../../support/http.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';

describe('The health of a data server', () => {
  const database = useTestDatabase();
  const keyring = new Keyring(new Sensitive(Buffer.alloc(32, 1).toString('base64')));
  let redis: Server;
  let port: number;
  let answer: string | null;
  let spec: ReleaseSpec;
  let health: ServerHealth;
  const sockets = new Set<Socket>();

  before(async () => {
    redis = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('data', () => answer !== null && socket.end(answer));
    });
    port = await listen(redis);
    const { id, configuration } = await makeService(database.db, undefined, { plan: 'starter' }, 'redis');
    await makeDataServer(database.db, id);
    spec = { serviceId: id, kind: 'redis', configuration } as unknown as ReleaseSpec;
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    redis.close();
  });
  beforeEach(() => {
    answer = '+PONG\r\n';
    health = new ServerHealth({ db: database.db, keyring });
  });

  const probe = () => {
    return health.probe({ id: 'replica', restarts: 0, task_id: '', address: '127.0.0.1', port }, spec);
  };

  it('is good if it accepts connections', async () => {
    expect(await probe()).to.equal('');
    answer = '-LOADING Redis is loading the dataset in memory\r\n';
    expect(await probe()).to.equal('LOADING Redis is loading the dataset in memory');
    const answeredAt = Date.now();
    await eventually('time has passed', () => Date.now() > answeredAt);
    expect(health.silentMs('replica'), 'it answers').to.equal(0);
  });

  it('counts the time without any answer, until there is one or the replica is gone', async function () {
    this.timeout(60_000);
    answer = null;
    const said = await probe();
    expect(said).to.match(/^no answer within/);
    await eventually('time has passed', () => health.silentMs('replica') > 0);
    expect(health.silentMs('another')).to.equal(0);
    answer = '+PONG\r\n';
    await probe();
    expect(health.silentMs('replica')).to.equal(0);
  });

  it('is bad while the storage of the plan of its release is full', async () => {
    const used = storageBytes('starter');
    await database.db('data_servers').where({ id: spec.serviceId }).update({ used_bytes: used });
    expect(await probe()).to.match(/its storage is full/);
    const { configuration } = spec;
    spec = { ...spec, configuration: { ...configuration, plan: 'standard' } };
    expect(await probe(), 'a larger plan').to.equal('');
  });
});

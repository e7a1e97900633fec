import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import type pg from 'pg';
import { SharedConnections } from '../../../../../shared/core/database/shared-connections.js';

class FakePool {
  acquired = 0;
  readonly lent = new Set<pg.Client>();
  readonly ended: pg.Client[] = [];
  failing = false;

  async acquireConnection(): Promise<pg.Client> {
    this.acquired += 1;
    if (this.failing) throw new Error('no connection');
    const connection = {
      end: async () => {
        expect(this.lent.has(connection), 'the pool does not have it yet').to.equal(true);
        this.ended.push(connection);
      },
    } as pg.Client;
    this.lent.add(connection);
    return connection;
  }

  async releaseConnection(connection: pg.Client): Promise<void> {
    expect(this.lent.delete(connection), 'it was lent').to.equal(true);
  }
}

function pending(): { read: (connection: pg.Client) => Promise<pg.Client>; end: (error?: Error) => void } {
  let end: (error?: Error) => void = () => undefined;
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  return {
    read: async (connection) => {
      await ended;
      return connection;
    },
    end: (error) => end(error),
  };
}

describe('Connections that reads share', () => {
  it('are two at most, evenly used, and return to the pool when nobody uses them', async () => {
    const pool = new FakePool();
    const connections = new SharedConnections(pool);
    const reads = Array.from({ length: 6 }, pending);
    const using = reads.map(({ read }) => connections.use(read));
    for (const { end } of reads.slice(0, 5)) end();
    const used = await Promise.all(using.slice(0, 5));
    expect(pool.acquired).to.equal(2);
    expect(pool.lent.size, 'that of the last read').to.equal(1);
    reads[5]?.end();
    const users = [...used, await using[5]];
    for (const connection of new Set(users)) expect(users.filter((other) => other === connection)).to.have.length(3);
    await Promise.resolve();
    expect(pool.lent.size).to.equal(0);
  });

  it('get no further users after an error, and return when their users have ended', async () => {
    const pool = new FakePool();
    const connections = new SharedConnections(pool);
    const [failing, other, slow, later] = [pending(), pending(), pending(), pending()];
    const using = [failing, other, slow].map(({ read }) => connections.use(read));
    failing.end(new Error('lost'));
    expect(await using[0]?.catch((error: Error) => error.message)).to.equal('lost');
    const next = connections.use(later.read);
    expect(pool.acquired).to.equal(3);
    for (const { end } of [other, slow, later]) end();
    const [beside, before, after] = await Promise.all([using[1], using[2], next]);
    expect(after, 'a fresh connection').to.not.equal(before);
    expect(after).to.not.equal(beside);
    await nextTurn();
    expect(pool.lent.size).to.equal(0);
    expect(pool.ended, 'the pool never hands out a lost connection').to.deep.equal([before]);
  });

  it('are asked for again after the pool had none', async () => {
    const pool = new FakePool();
    const connections = new SharedConnections(pool);
    pool.failing = true;
    const refused = await connections.use(async () => 'read').catch((error: Error) => error.message);
    expect(refused).to.equal('no connection');
    pool.failing = false;
    expect(await connections.use(async () => 'read')).to.equal('read');
  });
});

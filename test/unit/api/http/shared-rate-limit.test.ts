import { expect } from 'chai';
import { SharedWindows } from '../../../../api/http/shared-rate-limit.js';
import type { Db } from '../../../../shared/core/database/database-client.js';

const WINDOW_MS = 60_000;

/** Simulates the table of windows without a database. */
class Table {
  now = 0;
  writes = 0;
  down = false;
  readonly #rows = new Map<string, { points: number; expire: number }>();

  readonly take = async (_: Db, key: string, points: number, windowMs: number) => {
    await Promise.resolve();
    if (this.down) throw new Error('the database is away');
    this.writes += 1;
    const row = this.#rows.get(key);
    const next =
      row && row.expire > this.now
        ? { points: row.points + points, expire: row.expire }
        : { points, expire: this.now + windowMs };
    this.#rows.set(key, next);
    return { points: next.points, left: next.expire - this.now };
  };

  process(limit: number): SharedWindows {
    const { take } = this;
    return new SharedWindows({ db: {} as Db, name: 'read', limit, windowMs: WINDOW_MS, take, clock: () => this.now });
  }
}

async function admitted(windows: SharedWindows, requests: number): Promise<number> {
  const taken = await Promise.all(Array.from({ length: requests }, () => windows.consume('key')));
  return taken.filter((one) => one.admitted).length;
}

describe('A window that processes share', () => {
  let table: Table;
  beforeEach(() => {
    table = new Table();
  });

  it('admits its limit exactly in one process, whether requests come at once or one by one', async () => {
    const windows = table.process(600);
    let sum = await admitted(windows, 100);
    for (let i = 0; i < 600; i++) sum += await admitted(windows, 1);
    expect(sum).to.equal(600);
    expect((await windows.consume('key')).remaining).to.equal(0);
  });

  it('costs a write for few of the requests', async () => {
    const windows = table.process(600);
    for (let i = 0; i < 500; i++) await windows.consume('key');
    expect(table.writes).to.be.below(500 / 5);
    const before = table.writes;
    await admitted(windows, 1000);
    for (let i = 0; i < 100; i++) await windows.consume('key');
    expect(table.writes - before, 'a window that is used up').to.be.below(30);
  });

  it('never admits more than its limit in several processes, also if they are started again', async () => {
    let sum = 0;
    for (let i = 0; i < 40; i++) {
      const processes = [table.process(600), table.process(600), table.process(600)];
      for (const windows of processes) {
        sum += await admitted(windows, 3);
        for (let one = 0; one < 5; one++) sum += await admitted(windows, 1);
      }
    }
    expect(sum).to.be.at.most(600);
    expect(sum).to.be.greaterThan(300);
  });

  it('leaves at most a fiftieth of it unused for each further process', async () => {
    const processes = [table.process(600), table.process(600)];
    let sum = 0;
    for (let i = 0; i < 700; i++) sum += await admitted(processes[i % 2] as SharedWindows, 1);
    expect(sum).to.be.within(600 - 12, 600);
  });

  it('is exact between processes if its limit is small', async () => {
    const processes = [table.process(10), table.process(10)];
    const sums = await Promise.all(processes.map((windows) => admitted(windows, 8)));
    expect((sums[0] ?? 0) + (sums[1] ?? 0)).to.equal(10);
  });

  it('says what is left and for how long, and begins anew', async () => {
    const windows = table.process(20);
    expect(await windows.consume('key')).to.deep.equal({ admitted: true, remaining: 19, msLeft: WINDOW_MS });
    table.now += 20_000;
    expect(await admitted(windows, 30)).to.equal(19);
    expect(await windows.consume('key')).to.deep.equal({ admitted: false, remaining: 0, msLeft: 40_000 });
    table.now += 40_000;
    expect(await windows.consume('key')).to.include({ admitted: true, remaining: 19 });
  });

  it('hands out nothing of a window that has ended, however much of a lease is left', async () => {
    for (let before = 1; before <= 30; before++) {
      const windows = table.process(600);
      table.now += WINDOW_MS / 2;
      for (let i = 0; i < before; i++) await windows.consume('key');
      table.now += WINDOW_MS / 2;
      // Ended windows are removed once a minute: now, before the window of the key has ended.
      await windows.consume('other');
      table.now += WINDOW_MS / 2;
      let sum = 0;
      for (let i = 0; i < 700; i++) sum += await admitted(windows, 1);
      expect(sum, `after ${before}`).to.equal(600);
      table.now += WINDOW_MS;
    }
  });

  it('is counted by each process alone while the database is away', async () => {
    const windows = table.process(20);
    table.down = true;
    expect(await admitted(windows, 30)).to.equal(20);
    table.down = false;
    table.now += WINDOW_MS;
    expect(await admitted(windows, 30)).to.equal(20);
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { createKey, createWorkspace } from '../../shared/identity/commands.js';
import { nodeServer } from '../support/apps.js';
import { ApiClient, visit } from '../support/client.js';
import { deploy, type LogItem, type Service } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { Victim } from '../support/victim.js';

const LIMIT_MS = 600_000;
/** Maximum ratio of a line's delay during a flood to its delay before. Behind the flood, it would be minutes. */
const MAX_RATIO = 6;
const LINES_MEASURED = 8;
const FLOOD_MS = 12_000;
/** More than the API has database connections. */
const SEARCHES = 30;
/** After a flood, up to 100,000 lines or 64 MB wait, of which 1,000 lines or 256 kB are stored each second. */
const BACKLOG_MS = 300_000;

interface Newest {
  items: LogItem[];
}

const PRINTER = {
  ...nodeServer('printer'),
  'server.js': `
    const { spawn } = require('node:child_process');
    require('node:http').createServer((request, response) => {
      const url = new URL(request.url, 'http://x');
      if (url.pathname.startsWith('/say/')) console.log(url.pathname.slice(5));
      if (url.pathname !== '/run') return response.end('printer');
      const child = spawn('/bin/sh', ['-c', decodeURIComponent(url.search.slice(1))], { stdio: ['ignore', 'inherit', 'inherit'] });
      child.on('exit', (code) => response.end(String(code)));
    }).listen(process.env.PORT, () => console.log('listening'));
  `,
};

describe('Hostile logs', function () {
  this.timeout(LIMIT_MS);
  let platform: Platform;
  let victim: Victim;
  let flooder: Service;
  let printer: Service;
  let speaker: Service;
  usePlatform({ engine: 'postgres', env: { STOP_GRACE_SECONDS: '2' } }, async (started) => {
    platform = started;
    [victim, flooder, printer, speaker] = await Promise.all([
      Victim.deploy(platform),
      printerOf('flooder', { replicas: 2 }),
      printerOf('printer'),
      printerOf('speaker'),
    ]);
  });

  async function printerOf(name: string, configuration: object = {}): Promise<Service> {
    const { service } = await platform.serviceOf(name, PRINTER, { plan: 'standard', ...configuration });
    await deploy(platform.client, service.id);
    return service;
  }

  async function otherWorkspace(): Promise<ApiClient> {
    const { db } = platform.database;
    const email = 'other@example.test';
    const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name: 'Other', owner: email }));
    const key = { workspaceId: workspace.id, email, scope: 'write' as const, name: 'test', expiresAt: null };
    return new ApiClient(platform.client.baseUrl, workspace.id, (await createKey(db, key)).key);
  }

  function print(service: Service, command: string): Promise<unknown> {
    return visit(service.url, platform.edgePort, `/run?${encodeURIComponent(command)}`);
  }

  async function say(service: Service, text: string, withinMs = 30_000): Promise<number> {
    const saidAt = Date.now();
    await visit(service.url, platform.edgePort, `/say/${text}`);
    await eventually(
      `the line "${text}" is in the log`,
      async () => {
        if ((await search(service, text)).some((line) => line.message === text)) return true;
        const { items } = await platform.client.expect<Newest>('GET', `/services/${service.id}/logs?limit=5`);
        throw new Error(`the newest lines are ${JSON.stringify(items.map((line) => line.message.slice(0, 200)))}`);
      },
      withinMs,
    );
    return Date.now() - saidAt;
  }

  async function search(service: Service, text: string): Promise<LogItem[]> {
    const { items } = await platform.client.expect<Newest>(
      'GET',
      `/services/${service.id}/logs?source=runtime&limit=20&search=${encodeURIComponent(text)}`,
    );
    return items;
  }

  /** Returns the median delay until lines of an ordinary service become visible, in milliseconds. */
  async function lineDelay(mark: string): Promise<number> {
    const delays: number[] = [];
    for (let i = 0; i < LINES_MEASURED; i++) {
      delays.push(await say(speaker, `${mark}-${i}`));
      await delay(100);
    }
    return delays.sort((a, b) => a - b)[LINES_MEASURED >> 1] ?? 0;
  }

  async function nothingWaits(): Promise<void> {
    await eventually('no batch waits', async () => {
      const [row] = await platform.database.db('log_batches').count({ count: '*' });
      return Number(row?.count) === 0;
    });
  }

  it('empty lines without end delay no line of a neighbour, and the log of their service goes on', async () => {
    const before = await lineDelay('quiet');
    let during = 0;
    await victim.duringAttack(async () => {
      const flood = Promise.all([0, 1].map(() => print(flooder, `timeout ${FLOOD_MS / 1000} yes ''`)));
      await eventually('the flood is being stored', async () => {
        const stored = await platform.database.db('log_lines').where({ service_id: flooder.id }).max({ last: 'id' });
        return Number(stored[0]?.last) > 1_000;
      });
      during = await lineDelay('flooded');
      await flood;
    });
    expect(during, `ms until a neighbour's line is visible, ${before} before`).to.be.below(before * MAX_RATIO);
    await say(flooder, 'after-the-flood', BACKLOG_MS);
    expect(await search(flooder, 'left out')).to.not.deep.equal([]);
    await nothingWaits();
    const [stored] = await platform.database
      .db('log_lines')
      .where({ service_id: flooder.id })
      .select(platform.database.db.raw('count(*)::int as count, max(id)::int as last'));
    expect(stored.count, 'ids have no gap').to.equal(stored.last);
    expect(stored.count).to.be.below(300_000);
  });

  for (const [what, command] of [
    // The size is less than what is stored at once, because each further 256 kB would take a second.
    ['one line of 8 MB', `perl -e '$x = "x" x 1e6; print $x for 1 .. 8'; echo`],
    ['NULs', 'head -c 2000000 /dev/zero; echo'],
    ['bytes that are no UTF-8', `head -c 1000000 /dev/urandom; echo`],
    ['halves of surrogate pairs', String.raw`yes "$(printf '\355\240\275 x')" | head -n 5000`],
    ['control sequences', String.raw`yes "$(printf '\033[31m\033[2J')" | head -c 100000; echo`],
    ['carriage returns without a line end', String.raw`yes x | head -c 1000000 | tr '\n' '\r'; echo`],
    ['a shortened output file', `truncate -s 0 /proc/self/fd/1 || perl -e 'truncate(STDOUT, 0)'; echo`],
    ['an output file with a hole', `perl -e 'truncate(STDOUT, 1 << 40)'; echo`],
  ] as const) {
    it(`an application may print ${what}, and its log goes on`, async () => {
      await victim.duringAttack(async () => {
        await print(printer, command);
        const text = `after-${what.replaceAll(' ', '-')}`;
        // The first lines may be lost with the damage that the command did to its file.
        const goesOn = async () => {
          await visit(printer.url, platform.edgePort, `/say/${text}`);
          return (await search(printer, text)).some((line) => line.message === text);
        };
        await eventually(`the log of ${what} goes on`, goesOn, BACKLOG_MS);
      });
    });
  }

  it("an application cannot reach the socket of the platform's own PostgreSQL", async function () {
    const level = /"sandbox":"(\w+)"/.exec(platform.workers[0]?.output ?? '')?.[1];
    // Without its own user, an application can do what the platform can.
    if (level === 'none') this.skip();
    const folder = new URL(platform.database.url).searchParams.get('host');
    const connect = `const socket = require('node:net').connect(process.argv[1]);
      socket.on('connect', () => process.exit(50)).on('error', ({ code }) => process.exit(/ENOENT|EACCES/.test(code) ? 51 : 52));`;
    const answer = await visit(
      speaker.url,
      platform.edgePort,
      `/run?${encodeURIComponent(`node -e "${connect}" ${folder}/.s.PGSQL.5432`)}`,
    );
    expect(answer.body).to.equal('51');
  });

  it('searches of a large log are bounded, and leave other requests their connections', async () => {
    const { db } = platform.database;
    await db.raw(
      `insert into log_lines (service_id, id, source, level, message, logged_at)
       select :id, 1000000 + n, 'runtime', 'info', repeat(md5(n::text), 6), now() from generate_series(1, 40000) n`,
      { id: victim.service.id },
    );
    const other = await otherWorkspace();
    const statuses: number[] = [];
    let answered = 0;
    await victim.duringAttack(async () => {
      let searching = true;
      const searches = Promise.all(
        Array.from({ length: SEARCHES }, async () => {
          const path = `/services/${victim.service.id}/logs?search=${'%25_'.repeat(60)}`;
          statuses.push((await platform.client.call('GET', path)).status);
        }),
      ).finally(() => {
        searching = false;
      });
      while (searching) {
        await other.expect('GET', '/services');
        answered++;
      }
      await searches;
    });
    expect(
      statuses.every((status) => [200, 429, 503].includes(status)),
      String(statuses),
    ).to.equal(true);
    // If requests had to wait for all searches, at most one would be answered before them.
    expect(answered, 'ordinary requests that were answered before the searches were').to.be.greaterThan(2);
  });
});

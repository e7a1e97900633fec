import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { stringify } from 'yaml';
import type { Json } from '../support/api.js';
import { visit } from '../support/client.js';
import { Gate, reachOf } from '../support/gate.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { Rnv } from '../support/rnv.js';

/** Answers with its name and its version. It may exit, or wait at the gate, before it listens. */
const APP = {
  'package.json': '{"name":"app","version":"1.0.0","private":true}',
  'server.js': `
    const { NAME, VERSION, BROKEN, WAIT, GATE, PORT } = process.env;
    if (BROKEN) process.exit(3);
    const server = require('node:http').createServer((request, response) => response.end(NAME + ' ' + VERSION));
    const gate = WAIT ? fetch(GATE + '/start').then((r) => r.text()) : Promise.resolve();
    gate.then(() => server.listen(PORT));
    process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections(); });
  `,
  Procfile: 'web: exec node server.js\n',
};
const VISITED = ['a', 'b', 'c'];
const NAMES = [...VISITED, 'jobs'];

interface Visit {
  name: string;
  answer: string;
  begins: number;
  ends: number;
}

describe('The services of a stack with release: together', function () {
  this.timeout(300_000);
  const gate = new Gate();
  let platform: Platform;
  let rnv: Rnv;
  let repository: string;
  let environmentId: string;
  const applies = new Map<string, string>();

  usePlatform(
    async () => ({
      engine: 'postgres' as const,
      workers: 1,
      // The only slot shows that deployments which wait for others do not hold one.
      env: { WORKER_CONCURRENCY: '1', RELEASE_TIMEOUT_SECONDS: '60', ...reachOf(await gate.start()) },
    }),
    async (started) => {
      platform = started;
      rnv = await Rnv.create();
      await platform.database.db('workspaces').update({ configuration: { buildConcurrency: 1 } });
      repository = (await platform.repositoryOf(APP)).url;
      const { project } = await platform.client.expect<Json>('POST', '/projects', { name: 'Shop', color: 'blue' });
      environmentId = project.environments[0].id;
    },
  );
  after(async () => {
    gate.close();
    await rnv?.remove();
  });

  const document = (version: string, variables: Record<string, object> = {}) =>
    stringify({
      release: 'together',
      services: Object.fromEntries(
        NAMES.map((name) => [
          name,
          {
            kind: name === 'jobs' ? 'worker' : 'web',
            repository,
            startCommand: 'node server.js',
            variables: { NAME: name, VERSION: version, GATE: platform.env.GATE, ...variables[name] },
          },
        ]),
      ),
    });

  async function begin(text: string): Promise<string> {
    const place = { document: text, environmentId };
    const { plan } = await platform.client.expect<Json>('POST', '/stacks/plan', { name: 'shop', ...place });
    expect(plan.release).to.equal('together');
    const body = { ...place, planHash: plan.hash, confirmDestructive: 'shop' };
    return (await platform.client.expect<Json>('POST', '/stacks/shop/apply', body)).apply.id;
  }
  const read = async (id: string): Promise<Json> =>
    (await platform.client.expect<Json>('GET', `/stacks/shop/applies/${id}`)).apply;
  const ended = (id: string): Promise<Json> =>
    eventually(
      'the apply has ended',
      async () => {
        const now = await read(id);
        return now.finishedAt === null ? undefined : now;
      },
      240_000,
    );
  const applied = async (text: string): Promise<Json> => ended(await begin(text));
  const services = async (): Promise<Json[]> => (await platform.client.expect<Json>('GET', '/services')).services;
  async function urls(): Promise<Map<string, string>> {
    return new Map((await services()).map(({ name, url }) => [name, url]));
  }
  async function answers(): Promise<string[]> {
    const known = await urls();
    return Promise.all(VISITED.map(async (name) => (await visit(known.get(name) ?? '', platform.edgePort)).body));
  }
  const deployments = (applyId: string): Promise<Json[]> =>
    platform.database
      .db('deployments as d')
      .join('services as s', 's.id', 'd.service_id')
      .where('d.together_id', applyId)
      .orderBy('s.name')
      .select('d.*', 's.name as name');
  const running = (applyId: string) =>
    platform.database
      .db('replicas as r')
      .join('deployments as d', 'd.id', 'r.deployment_id')
      .where('d.together_id', applyId)
      .whereNot('r.state', 'stopped');
  async function prepared(applyId: string, names: readonly string[]): Promise<void> {
    await eventually(`${names} are prepared`, async () => {
      const found = (await deployments(applyId)).filter(({ status }) => status === 'prepared');
      return names.every((name) => found.some((each) => each.name === name));
    });
  }
  async function expectTogether(applyId: string, version: string): Promise<void> {
    const rows = await deployments(applyId);
    expect(rows.map(({ name, status }) => `${name} ${status}`)).to.deep.equal(NAMES.map((name) => `${name} live`));
    expect(new Set(rows.map(({ went_live_at }) => went_live_at.getTime())).size).to.equal(1);
    expect(await answers()).to.deep.equal(VISITED.map((name) => `${name} ${version}`));
  }

  async function visitsDuring(work: () => Promise<unknown>): Promise<Visit[]> {
    const known = await urls();
    const visits: Visit[] = [];
    let visiting = true;
    const visitors = VISITED.map(async (name) => {
      while (visiting) {
        const begins = performance.now();
        const { status, body } = await visit(known.get(name) ?? '', platform.edgePort);
        visits.push({ name, answer: status === 200 ? body : `${status} ${body}`, begins, ends: performance.now() });
        await delay(10);
      }
    });
    await work().finally(() => {
      visiting = false;
    });
    await Promise.all(visitors);
    return visits;
  }
  const seen = (visits: readonly Visit[]) => [...new Set(visits.map(({ answer }) => answer))].sort();

  it('go live at once, with one worker that has one slot', async () => {
    const apply = await applied(document('one'));
    expect(apply.status, apply.error).to.equal('succeeded');
    expect(apply).to.include({ release: 'together', rollbackOf: null });
    applies.set('one', apply.id);
    await expectTogether(apply.id, 'one');
  });

  it('stay on their old releases if one is unhealthy, and no visitor sees a new one', async () => {
    let apply: Json = {};
    const visits = await visitsDuring(async () => {
      apply = await applied(document('broken', { c: { BROKEN: '1' } }));
    });
    applies.set('broken', apply.id);
    expect(apply.status).to.equal('failed');
    expect(apply.error).to.match(/^no service of the stack went live, because the deployment of c failed: release: /);
    expect(seen(visits)).to.deep.equal(['a one', 'b one', 'c one']);
    const rows = await deployments(apply.id);
    expect(rows.map(({ status, went_live_at }) => [status, went_live_at])).to.deep.equal(
      NAMES.map(() => ['failed', null]),
    );
    expect(await running(apply.id)).to.deep.equal([]);
  });

  it('change for visitors at one moment, without a failed request', async () => {
    let apply: Json = {};
    const visits = await visitsDuring(async () => {
      apply = await applied(document('two'));
    });
    expect(apply.status, apply.error).to.equal('succeeded');
    applies.set('two', apply.id);
    await expectTogether(apply.id, 'two');
    expect(seen(visits).filter((answer) => !/^[abc] (one|two)$/.test(answer))).to.deep.equal([]);
    // The edge changes all routes at once, so no request that begins after the first new answer gets an old one.
    const first = Math.min(...visits.filter(({ answer }) => answer.endsWith('two')).map(({ ends }) => ends));
    const late = visits.filter(({ answer, begins }) => answer.endsWith('one') && begins > first);
    expect(late).to.deep.equal([]);
  });

  it('go live although the worker is killed while they wait', async () => {
    gate.shut();
    const id = await begin(document('three', { c: { WAIT: '1' } }));
    // The only slot is that of c, so the fourth deployment has not begun.
    await prepared(id, ['a', 'b']);
    expect(await answers()).to.deep.equal(VISITED.map((name) => `${name} two`));
    for (const worker of platform.workers) worker.kill('SIGKILL');
    await platform.startWorker();
    gate.open();
    const apply = await ended(id);
    expect(apply.status, apply.error).to.equal('succeeded');
    applies.set('three', id);
    await expectTogether(id, 'three');
  });

  it('stay on their old releases if the apply is cancelled while they wait', async () => {
    gate.shut();
    const id = await begin(document('four', { c: { WAIT: '1' } }));
    await prepared(id, ['a', 'b']);
    await platform.client.expect('POST', `/stacks/shop/applies/${id}/cancel`);
    expect((await ended(id)).status).to.equal('cancelled');
    gate.open();
    await eventually('all deployments have ended', async () =>
      (await deployments(id)).every(({ finished_at: end }) => end !== null),
    );
    expect((await deployments(id)).filter(({ status }) => status === 'live')).to.deep.equal([]);
    expect(await running(id)).to.deep.equal([]);
    expect(await answers()).to.deep.equal(VISITED.map((name) => `${name} three`));
  });

  it('go back together to an earlier apply, by rnv, and not to one that failed', async () => {
    const refused = await platform.client.call<Json>('POST', '/stacks/shop/rollback', {
      applyId: applies.get('broken'),
    });
    expect(refused.status).to.equal(409);
    expect(refused.body.error.message).to.contain('it failed');
    const env = { RNV_URL: `http://127.0.0.1:${platform.apiPort}`, RNV_KEY: platform.client.key };
    const listed = await rnv.run(['stacks', 'applies', 'shop', '--json'], { env });
    expect(JSON.parse(listed.stdout).applies.map(({ id }: Json) => id)).to.include(applies.get('one'));
    const done = await rnv.run(['stacks', 'rollback', 'shop', applies.get('one') ?? '', '--yes', '--json'], { env });
    expect(done.code, done.stderr).to.equal(0);
    const { apply } = JSON.parse(done.stdout);
    expect(apply).to.include({ status: 'succeeded', rollbackOf: applies.get('one'), release: 'together' });
    await expectTogether(apply.id, 'one');
    // Services that are live already are not released again.
    const again = await platform.client.expect<Json>('POST', '/stacks/shop/rollback', { applyId: applies.get('one') });
    expect(again.apply.status).to.equal('succeeded');
    expect(await deployments(again.apply.id)).to.deep.equal([]);
  });
});

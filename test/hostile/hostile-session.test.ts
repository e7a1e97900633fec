import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { addMember } from '../../shared/identity/commands.js';
import { nodeServer } from '../support/apps.js';
import { Browser } from '../support/browser.js';
import { visit } from '../support/client.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import { makeUser } from '../support/factories.js';
import { rawRequest } from '../support/http.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { Victim } from '../support/victim.js';

const LIMIT_MS = 240_000;
const PASSWORD = 'correct horse battery staple';
const OPERATOR = `Basic ${Buffer.from('operator:operator-password').toString('base64')}`;

/** Keeps the cookies of its requests. `/use` acts with them, and `/guess` tries passwords. */
const THIEF = {
  ...nodeServer('thief'),
  'server.js': `
    const api = 'http://localhost:' + process.env.API_PORT;
    let cookie = '';
    const json = { 'Content-Type': 'application/json' };
    async function use() {
      const bootstrap = await (await fetch(api + '/api/bootstrap', { headers: { cookie } })).json();
      const read = await fetch(api + process.env.SERVICES, { headers: { cookie } });
      const written = await fetch(api + process.env.SERVICES, {
        method: 'POST',
        headers: { ...json, cookie, 'X-CSRFToken': bootstrap.csrfToken },
        body: JSON.stringify({ name: 'made by a thief', kind: 'web' }),
      });
      return { cookie, user: bootstrap.user, read: read.status, written: written.status };
    }
    async function guess(email) {
      const statuses = [];
      for (let i = 0; i < 60; i++) {
        const body = JSON.stringify({ email, password: 'wrong ' + i });
        statuses.push((await fetch(api + '/api/session', { method: 'POST', headers: json, body })).status);
      }
      return statuses;
    }
    require('node:http').createServer(async (request, response) => {
      const url = new URL(request.url, 'http://x');
      try {
        if (url.pathname === '/use') return response.end(JSON.stringify(await use()));
        if (url.pathname === '/guess') return response.end(JSON.stringify(await guess(url.searchParams.get('email'))));
        if (url.pathname === '/metrics') return response.end(String((await fetch(api + '/metrics')).status));
      } catch (error) {
        return response.end(JSON.stringify({ failed: String(error) }));
      }
      if (request.headers.cookie) cookie = request.headers.cookie;
      response.end('thief');
    }).listen(process.env.PORT);
  `,
};

describe('Hostile neighbours of a browser session', function () {
  this.timeout(LIMIT_MS);
  let platform: Platform;
  let victim: Victim;
  let thief: Service;
  let contained = false;
  let api: string;

  // The thief reaches the API only in the network of the host.
  usePlatform({ engine: 'postgres', env: { NETWORK: 'shared' } }, async (started) => {
    platform = started;
    api = `http://localhost:${platform.apiPort}`;
    const level = await eventually('the worker says how it contains what it runs', () =>
      /"sandbox":"(\w+)"/.exec(platform.workers[0]?.output ?? ''),
    );
    contained = level[1] !== 'none';
    const repository = await platform.repositoryOf(THIEF);
    thief = await createService(platform.client, {
      name: 'thief',
      configuration: { repository: repository.url },
      variables: [
        { key: 'API_PORT', value: String(platform.apiPort) },
        { key: 'SERVICES', value: `/api/v1/workspaces/${platform.client.workspaceId}/services` },
      ],
    });
    [victim] = await Promise.all([Victim.deploy(platform), deploy(platform.client, thief.id)]);
  });

  async function person(email: string): Promise<string> {
    const { db } = platform.database;
    await makeUser(db, { email, password: PASSWORD, verified: true });
    const workspaceId = platform.client.workspaceId;
    await db.transaction((trx) => addMember(trx, { workspaceId, email, role: 'admin' }));
    return email;
  }

  const asked = async (path: string) => (await visit(thief.url, platform.edgePort, path)).body;

  it('the cookie that a browser sends to another port is of no use to who receives it there', async function () {
    if (!contained) this.skip();
    const browser = new Browser(api);
    await browser.signIn(await person('robbed@example.test'), PASSWORD);
    const replica = await platform.database.db('replicas').where({ service_id: thief.id }).whereNotNull('port').first();
    // A browser ignores the port when it chooses cookies for a request.
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    await rawRequest(`http://localhost:${replica.port}/api/x`, { headers: { cookie } });
    const attempt = JSON.parse(await asked('/use'));
    expect(attempt).to.deep.equal({ cookie, user: null, read: 401, written: 401 });
    expect((await browser.bootstrap()).user.email).to.equal('robbed@example.test');
    expect(await platform.database.db('services').where({ name: 'made by a thief' })).to.deep.equal([]);
  });

  it('the API answers under its own names only', async () => {
    const names = [
      'attacker.example',
      `victim.localhost:${platform.edgePort}`,
      'localhost.attacker.example',
      'localhost:x',
    ];
    for (const host of names) {
      for (const path of ['/api/bootstrap', '/api/v1/catalog', '/admin/queues', '/metrics', '/api/docs']) {
        const { status } = await rawRequest(api + path, { headers: { host } });
        expect(status, `${host} ${path}`).to.equal(400);
      }
      expect((await rawRequest(`${api}/healthz`, { headers: { host } })).status).to.equal(200);
    }
    for (const host of ['localhost', `LOCALHOST:${platform.apiPort}`, '127.0.0.1', '[::1]:3000', '203.0.113.5']) {
      expect((await rawRequest(`${api}/api/bootstrap`, { headers: { host } })).status, host).to.equal(200);
    }
  });

  it('who guesses passwords from an application keeps nobody else from signing in', async function () {
    if (!contained) this.skip();
    const email = await person('besieged@example.test');
    await victim.duringAttack(async () => {
      const statuses: number[] = JSON.parse(await asked(`/guess?email=${email}`));
      expect(statuses.filter((status) => status === 401).length).to.be.at.most(10);
      expect(statuses.filter((status) => status === 429).length).to.be.at.least(50);
      await new Browser(api).signIn(email, PASSWORD);
    });
  });

  it('the dashboard takes ten wrong passwords, then none for a while, and changes nothing for another site', async () => {
    const add = (headers: Record<string, string>) =>
      rawRequest(`${api}/admin/queues/api/queues/deploy/pause`, {
        method: 'PUT',
        headers: { Authorization: OPERATOR, ...headers },
      });
    const host = `localhost:${platform.apiPort}`;
    const foreign: Record<string, string>[] = [
      {},
      { Origin: `http://thief.localhost:${platform.edgePort}` },
      { Origin: `http://localhost:${platform.edgePort}` },
      { Origin: 'null' },
      { Referer: `http://thief.localhost:${platform.edgePort}/${host}` },
      { Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-site' },
    ];
    for (const headers of foreign) expect((await add(headers)).status, JSON.stringify(headers)).to.equal(403);
    const own: Record<string, string>[] = [{ Origin: `http://${host}` }, { Referer: `http://${host}/admin/queues/` }];
    for (const headers of own) {
      expect((await add(headers)).status, JSON.stringify(headers)).to.equal(200);
    }
    await rawRequest(`${api}/admin/queues/api/queues/deploy/resume`, {
      method: 'PUT',
      headers: { Authorization: OPERATOR, Origin: `http://${host}` },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) {
      const wrong = `Basic ${Buffer.from(`operator:wrong-${i}`).toString('base64')}`;
      statuses.push((await rawRequest(`${api}/admin/queues/`, { headers: { Authorization: wrong } })).status);
    }
    expect(statuses).to.deep.equal([...Array(10).fill(401), 429, 429]);
  });

  it('figures of the platform are for its operators', async () => {
    expect(await asked('/metrics')).to.equal('401');
    expect((await rawRequest(`${api}/metrics`)).status).to.equal(401);
    for (const path of ['/healthz', '/readyz', '/api/bootstrap', '/api/verify', '/api/docs']) {
      const { body, headers } = await rawRequest(api + path);
      expect(body, path).to.not.contain(thief.id).and.not.contain(platform.client.workspaceId);
      expect(headers['cross-origin-resource-policy'], path).to.equal('same-origin');
    }
  });

  it('connections that never finish a request are closed, and leave room for others', async () => {
    const idle: Socket[] = [];
    try {
      await victim.duringAttack(async () => {
        let closed = 0;
        for (let i = 0; i < 600; i++) {
          const socket = connect(platform.apiPort, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: '));
          socket
            .on('error', () => undefined)
            .on('close', () => closed++)
            .resume();
          idle.push(socket);
        }
        await eventually('the API refuses some of so many', () => closed > 0);
        await eventually('every one is closed', () => closed === idle.length);
        // The API may notice the end of a connection later than its client does.
        await eventually('the API takes as many as before', async () => {
          await Promise.all(Array.from({ length: 200 }, () => rawRequest(`${api}/healthz`)));
          return true;
        });
      });
    } finally {
      for (const socket of idle) socket.destroy();
    }
  });

  it('many sign-ins at once cost the API no more than a few, and visitors nothing', async () => {
    await victim.duringAttack(async () => {
      const body = (i: number) => JSON.stringify({ email: `nobody-${i}@example.test`, password: 'x'.repeat(1024) });
      const headers = { 'Content-Type': 'application/json' };
      const flood = Promise.all(
        Array.from(
          { length: 100 },
          async (_, i) => (await rawRequest(`${api}/api/session`, { method: 'POST', headers, body: body(i) })).status,
        ),
      );
      for (let i = 0; i < 10; i++) expect((await rawRequest(`${api}/healthz`)).status).to.equal(200);
      const statuses = await flood;
      expect(statuses.filter((status) => status === 429).length).to.be.at.least(80);
      expect(statuses.filter((status) => status !== 429 && status !== 401)).to.deep.equal([]);
    });
  });
});

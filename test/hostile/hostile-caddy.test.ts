import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { describeCaddy, startCaddy, type TestCaddy } from '../support/caddy.js';
import { visit } from '../support/client.js';
import { deploy, type Service } from '../support/deployments.js';
import { HOSTILE_ANSWERS } from '../support/hostile-answers.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { openPorts } from '../support/sockets.js';
import { Victim } from '../support/victim.js';

/** Longer than the edge needs to start, but shorter than Caddy lets requests wait for it. */
const RESTART_MS = 8_000;
const MARK = 'reached';

/** `/reach` answers which ports and sockets accept connections. `/steal` listens on ports as soon as they are free. */
const THIEF = {
  ...nodeServer('thief'),
  'server.js': `
    const http = require('node:http');
    const net = require('node:net');
    const dgram = require('node:dgram');
    const again = (work) => setTimeout(work, 5);
    const stealTcp = (port) => {
      const server = http.createServer((request, response) => response.end('stolen'));
      server.on('error', () => again(() => stealTcp(port))).listen(port, '127.0.0.1');
    };
    const stealUdp = (port) => {
      const socket = dgram.createSocket('udp4');
      socket.on('error', () => { socket.close(); again(() => stealUdp(port)); }).bind(port, '127.0.0.1');
    };
    const reached = (target) => new Promise((resolve) => {
      const socket = net.connect(typeof target === 'number' ? { host: '127.0.0.1', port: target } : { path: target });
      socket.on('connect', () => { socket.destroy(); resolve(true); });
      socket.on('error', () => resolve(false));
    });
    http.createServer(async (request, response) => {
      const url = new URL(request.url, 'http://x');
      const targets = JSON.parse(url.searchParams.get('targets') ?? '[]');
      const found = [];
      if (url.pathname === '/steal') for (const { protocol, port } of targets) protocol === 'tcp' ? stealTcp(port) : stealUdp(port);
      if (url.pathname === '/reach') for (const target of targets) if (await reached(target)) found.push(target);
      response.end(JSON.stringify(found));
    }).listen(process.env.PORT);
  `,
};

/** Answers `/<number>` with one of the hostile answers, and other paths correctly. */
const LIAR = {
  ...nodeServer('liar'),
  'answers.json': JSON.stringify(Object.values(HOSTILE_ANSWERS)),
  'server.js': `
    const answers = require('./answers.json');
    require('node:net').createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (request) => {
        const number = /^[A-Z]+ \\/(\\d+) /.exec(request.toString('latin1'))?.[1];
        socket.end(answers[number] ?? 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok', 'latin1');
      });
    }).listen(process.env.PORT);
  `,
};

describeCaddy('Hostile applications on a platform behind Caddy', () => {
  let caddy: TestCaddy;
  let platform: Platform;
  let victim: Victim;
  let thief: Service;
  let open: Server;

  before(async function () {
    this.timeout(240_000);
    caddy = await startCaddy();
    // Only an application in the host's network can try to reach Caddy.
    const env = { NETWORK: 'shared', EDGE: 'caddy', CADDY_ADMIN_URL: caddy.adminUrl };
    platform = await startPlatform({ engine: 'postgres', env });
    const level = await eventually('the worker says how it contains what it runs', () =>
      /"sandbox":"(\w+)"/.exec(platform.workers[0]?.output ?? ''),
    );
    // Without isolation, applications run as the platform's own user, who may reach Caddy.
    if (level[1] === 'none') this.skip();
    open = createServer((_req, res) => res.end(MARK)).listen(0, '127.0.0.1');
    [victim, thief] = await Promise.all([Victim.deploy(platform), serviceOf('thief', THIEF)]);
  });
  after(async function () {
    this.timeout(240_000);
    open?.close();
    await platform?.stop();
    await caddy?.stop();
  });

  async function serviceOf(name: string, files: Record<string, string>): Promise<Service> {
    const { service } = await platform.serviceOf(name, files);
    await deploy(platform.client, service.id);
    return service;
  }

  function runningEdge() {
    const found = platform.processes.findLast((process) => process.name === 'edge' && !process.ended);
    if (found?.child.pid === undefined) throw new Error('no edge process runs');
    return { process: found, pid: found.child.pid };
  }

  async function tellThief(path: string, targets: unknown[]): Promise<unknown> {
    const query = encodeURIComponent(JSON.stringify(targets));
    return JSON.parse((await visit(thief.url, platform.edgePort, `${path}?targets=${query}`)).body);
  }

  it('answer with whatever bytes, and nobody else notices', async function () {
    this.timeout(240_000);
    const liar = await serviceOf('liar', LIAR);
    const statuses = new Set<number>();
    await victim.duringAttack(async () => {
      for (let number = 0; number < Object.keys(HOSTILE_ANSWERS).length; number++) {
        const visits = [`/${number}`, `/${number}`].map((path, i) =>
          visit(liar.url, platform.edgePort, path, i === 0 ? 'GET' : 'POST').catch(() => null),
        );
        for (const answer of await Promise.all(visits)) if (answer !== null) statuses.add(answer.status);
      }
    });
    expect([...statuses]).to.include.members([200, 502]);
    expect((await visit(liar.url, platform.edgePort)).body).to.equal('ok');
  });

  it('find no port by which requests are routed, so that none can be taken while the edge restarts', async function () {
    this.timeout(240_000);
    const ports = await openPorts(runningEdge().pid);
    await tellThief('/steal', ports);
    const answers = new Set<string>();
    let visiting = true;
    const visitors = ['GET', 'POST', 'GET', 'POST'].map(async (method) => {
      while (visiting) {
        const answer = await visit(victim.service.url, platform.edgePort, '/', method).catch((e) => ({
          status: 0,
          body: String(e),
        }));
        answers.add(`${answer.status} ${answer.body}`);
      }
    });
    const since = Date.now();
    await runningEdge().process.stop();
    await platform.startEdge();
    const away = Date.now() - since;
    visiting = false;
    await Promise.all(visitors);
    expect(ports, 'ports of the edge process').to.deep.equal([]);
    expect([...answers].filter((answer) => answer.includes('stolen'))).to.deep.equal([]);
    // On a machine too busy to start the edge in time, visitors get an error meanwhile.
    if (away < RESTART_MS) expect([...answers]).to.deep.equal(['200 victim']);
  });

  it('reach neither the admin API of Caddy, nor the edge past Caddy', async () => {
    const admin = new URL(caddy.adminUrl);
    const sockets = ['sock', 'gate.sock'].map((end) => join(platform.dataDir, 'edge', `${platform.edgePort}.${end}`));
    for (const socket of sockets) expect((await stat(socket)).isSocket(), socket).to.equal(true);
    const { port } = open.address() as AddressInfo;
    const guarded = [admin.protocol === 'unix:' ? admin.pathname : Number(admin.port), ...sockets];
    // The port of an ordinary program shows that the attack finds what is open.
    expect(await tellThief('/reach', [port, ...guarded])).to.deep.equal([port]);
  });
});

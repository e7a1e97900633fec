import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { mock } from 'node:test';
import { expect } from 'chai';
import { checkHealth } from '../../../../workers/runtime/health-check.js';
import { listen } from '../../../support/http.js';

describe('A health check', () => {
  let server: Server;
  let serverPort: number;
  let status = 200;
  let asked: IncomingMessage[] = [];

  before(async () => {
    server = createServer((request, response) => {
      asked.push(request);
      response.writeHead(status, { location: '/elsewhere' }).end('body');
    });
    serverPort = await listen(server);
  });
  beforeEach(() => {
    asked = [];
  });
  after(() => server.close());

  function check(path = '/healthz', port = serverPort) {
    return checkHealth({ address: '127.0.0.1', port, path, host: 'shop.localhost' });
  }

  for (const healthy of [200, 204, 302]) {
    it(`passes on ${healthy}`, async () => {
      status = healthy;
      expect(await check()).to.deep.equal({ healthy: true });
    });
  }

  for (const unhealthy of [400, 404, 429, 500, 503]) {
    it(`fails on ${unhealthy} and names the path and the status`, async () => {
      status = unhealthy;
      expect(await check()).to.deep.equal({
        healthy: false,
        kind: 'bad-answer',
        answer: `GET /healthz answered ${unhealthy}, expected 2xx or 3xx`,
      });
    });
  }

  it("asks for the path once under the service's name, and follows no redirect", async () => {
    status = 302;
    await check();
    expect(asked.map(({ url, headers }) => [url, headers.host])).to.deep.equal([['/healthz', 'shop.localhost']]);
  });

  it('without a path passes as soon as the port accepts a connection', async () => {
    status = 500;
    expect(await check('')).to.deep.equal({ healthy: true });
  });

  it('fails when nothing listens, with a path and without', async () => {
    const free = createServer();
    const port = await listen(free);
    free.close();
    await once(free, 'close');
    for (const path of ['/healthz', '']) {
      expect(await check(path, port)).to.deep.equal({
        healthy: false,
        kind: 'no-answer',
        answer: 'connection refused',
      });
    }
  });

  it('fails after two seconds without an answer', async () => {
    const silent = createTcpServer();
    const port = await listen(silent);
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const late = check('/healthz', port);
      mock.timers.tick(2_000);
      const answer = 'GET /healthz got no answer within 2 s';
      expect(await late).to.deep.equal({ healthy: false, kind: 'no-answer', answer });
    } finally {
      mock.timers.reset();
      silent.close();
    }
  });
});

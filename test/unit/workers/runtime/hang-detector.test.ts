import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { HangDetector } from '../../../../workers/runtime/hang-detector.js';
import { listen } from '../../../support/http.js';
import { eventually } from '../../../support/processes.js';

describe('The liveness of an application without a health check path', () => {
  const open: Server[] = [];
  afterEach(() => {
    for (const server of open.splice(0)) server.close();
  });

  async function target(server: Server) {
    open.push(server);
    return { address: '127.0.0.1', port: await listen(server), host: 'shop.localhost' };
  }

  it('is lost if the port accepts and nothing ever answers, and found again with the next answer', async () => {
    let hangs = true;
    const server = createHttpServer((_, response) => {
      if (!hangs) response.end();
    });
    const where = await target(server);
    const liveness = new HangDetector({ interval: 1, patience: 100 });
    await eventually('it is silent', () => liveness.observe(where) !== '');
    expect(liveness.observe(where)).to.equal('the port accepts connections, but a request got no answer within 0.1 s');
    hangs = false;
    await eventually('it answers', () => liveness.observe(where) === '');
    server.closeAllConnections();
  });

  it('is kept if one request gets no answer and the next one does', async () => {
    let asked = 0;
    const server = createHttpServer((_, response) => {
      asked += 1;
      if (asked > 1) response.end();
    });
    const where = await target(server);
    const liveness = new HangDetector({ interval: 1, patience: 100 });
    await eventually('it was asked three times', () => {
      expect(liveness.observe(where)).to.equal('');
      return asked >= 3;
    });
    server.closeAllConnections();
  });

  it('is kept by any answer, also by an error or a closed connection', async () => {
    let asked = 0;
    const broken = createHttpServer((_, response) => {
      asked += 1;
      response.statusCode = 500;
      response.end();
    });
    const rude = createServer((socket) => {
      asked += 1;
      socket.destroy();
    });
    for (const server of [broken, rude]) {
      asked = 0;
      const where = await target(server);
      const liveness = new HangDetector({ interval: 1, patience: 5_000 });
      await eventually('it was asked three times', () => {
        expect(liveness.observe(where)).to.equal('');
        return asked >= 3;
      });
    }
  });
});

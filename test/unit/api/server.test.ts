import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import Koa from 'koa';
import type { ApiState } from '../../../api/http/request-state.js';
import { type RunningServer, startServer } from '../../../api/server.js';
import { eventually } from '../../support/processes.js';

describe('The server of the API', () => {
  let server: RunningServer;
  before(async () => {
    const app = new Koa<ApiState>();
    app.use((ctx) => {
      ctx.status = 401;
      ctx.set('Connection', 'close');
      ctx.body = 'refused';
    });
    server = await startServer(app, 0, { host: '127.0.0.1' });
  });
  after(() => server.close());

  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

  it('keeps nothing of a push that is refused before its body has come', async () => {
    // Mocha sets its own timer first.
    await setImmediate();
    const before = timers();
    const { port, hostname } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write('POST /git/a/b/git-receive-pack HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nfirst');
    socket.resume();
    await once(socket, 'close');
    // The time limit of a push, an hour, would hold the request and its socket.
    await eventually('its time limit is gone', () => timers() <= before);
  });

  it('says what is wrong with a request that it cannot read', async () => {
    const answerTo = async (request: string): Promise<string> => {
      const { port, hostname } = new URL(server.url);
      const socket = connect(Number(port), hostname);
      socket.write(request);
      return text(socket);
    };
    const long = 'x'.repeat(20_000);
    expect(await answerTo(`GET / HTTP/1.1\r\nHost: a\r\nX: ${long}\r\n\r\n`)).to.match(
      /^HTTP\/1\.1 400 .*invalid values: its headers have more than 16384 bytes"/s,
    );
    expect(await answerTo('GET / HTTP/1.1\r\nHost : a\r\n\r\n')).to.match(/^HTTP\/1\.1 400 .*: it is not HTTP"/s);
  });
});

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { Containment, containUncaught, type EdgeCounters } from '../../../workers/edge/proxy/containment.js';
import { EncoderBudget } from '../../../workers/edge/proxy/sites/encoder-budget.js';
import { Connections } from '../../../workers/edge/proxy/visitors/bounded-connections.js';
import { eventually } from '../../support/processes.js';
import { Bench, HOST, proxied, sendRaw, type TestEdge } from './support.js';

/** Random data, so that compressed answers fill the buffers too. */
const TEXT = randomBytes(48 * 1024).toString('base64');

describe('edge limits', () => {
  let bench: Bench;
  let sockets: Socket[];
  beforeEach(() => {
    bench = new Bench();
    sockets = [];
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await bench.close();
  });

  async function silent(edge: TestEdge, from: string, path = '/', headers = ''): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port: edge.port, localAddress: from });
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${headers}\r\n`);
    return socket;
  }

  /**
   * Starts an edge with these limits. Its replica sends without end on `/endless`, and floods a WebSocket on `/socket`.
   */
  async function edgeWith(limits: object): Promise<TestEdge> {
    const replica = await bench.replica((req, res) => {
      if (req.url === '/quiet') {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.flushHeaders();
      } else if (req.url === '/endless') {
        res.setHeader('content-type', 'text/plain');
        const more = () => {
          while (!res.destroyed && res.write(TEXT));
        };
        res.on('drain', more);
        more();
      } else res.end('fine');
    });
    replica.server.on('upgrade', (_req, socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      const more = () => {
        while (!socket.destroyed && socket.write(TEXT));
      };
      socket.on('drain', more);
      more();
    });
    const edge = await bench.edge({ limits });
    await edge.apply(proxied([replica]));
    return edge;
  }

  it('ends a connection whose client has read nothing for the time allowed, WebSockets too, and no quiet one', async () => {
    const edge = await edgeWith({ stallMs: 1_000 });
    await silent(edge, '127.0.0.1', '/endless');
    await silent(edge, '127.0.0.1', '/endless', 'Accept-Encoding: gzip\r\n');
    await silent(edge, '127.0.0.1', '/socket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
    const quiet = await silent(edge, '127.0.0.1', '/quiet');
    quiet.resume();
    await eventually('all is under way', () => edge.figures.connections === 4);
    await eventually('the slow ones are ended', () => edge.figures.closedConnections === 3);
    await eventually('their exchanges are ended', () => edge.figures.requests === 1 && edge.figures.upgraded === 0);
    expect(edge.figures.connections).to.equal(1);
    expect(quiet.closed).to.equal(false);
  });

  it('ends a connection whose body no replica takes', async () => {
    let release = () => undefined as unknown;
    const replica = await bench.replica((req) => {
      req.pause();
      release = () => req.destroy();
    });
    const edge = await bench.edge({ limits: { stallMs: 1_000 } });
    await edge.apply(proxied([replica]));
    const socket = connect({ host: '127.0.0.1', port: edge.port });
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 99999999\r\n\r\n`);
    const more = () => {
      while (!socket.destroyed && socket.write(TEXT));
    };
    socket.on('drain', more);
    more();
    await eventually('it is ended', () => edge.figures.closedConnections === 1 && edge.figures.requests === 0);
    release();
  });

  it('keeps no more slow connections than the limit, and closes those of the client with the most', async () => {
    const edge = await edgeWith({ slow: 3, stallMs: 600_000 });
    const other = await silent(edge, '127.0.0.9', '/endless');
    await eventually('it is under way', () => edge.figures.requests === 1);
    for (let i = 0; i < 6; i++) await silent(edge, '127.0.0.8', '/endless');
    await eventually('the limit is kept', () => edge.figures.closedConnections === 4);
    expect(edge.figures.connections).to.equal(3);
    other.resume();
    const [chunk] = await once(other, 'data');
    expect(String(chunk)).to.match(/^HTTP\/1\.1 200 /);
  });

  it('refuses a client that uses all its connections, serves it again after, and others meanwhile', async () => {
    const edge = await edgeWith({ perClient: 2 });
    for (let i = 0; i < 2; i++) (await silent(edge, '127.0.0.8', '/quiet')).resume();
    await eventually('both are in use', () => edge.figures.requests === 2);
    const refused = await silent(edge, '127.0.0.8');
    const [answer] = await once(refused, 'data');
    expect(String(answer)).to.match(/^HTTP\/1\.1 503 .*\r\nRetry-After: \d+\r\n/);
    expect(await sendRaw(edge.port, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)).to.match(/fine$/);
    sockets[0]?.destroy();
    await eventually('one is free', () => edge.figures.connections === 1);
    const [served] = await once(await silent(edge, '127.0.0.8'), 'data');
    expect(String(served)).to.match(/^HTTP\/1\.1 200 /);
    expect(edge.figures.refusedConnections).to.equal(1);
  });

  it('gives the place of an idle connection to a new one', async () => {
    const edge = await edgeWith({ total: 2 });
    for (let i = 0; i < 5; i++) {
      const [served] = await once(await silent(edge, `127.0.0.${10 + i}`), 'data');
      expect(String(served)).to.match(/^HTTP\/1\.1 200 /);
    }
    expect(edge.figures).to.include({ refusedConnections: 0, closedConnections: 3 });
  });

  it('serves pipelined requests in turn, and ends a connection that sends too many', async () => {
    let atOnce = 0;
    let most = 0;
    const replica = await bench.replica((req, res) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      setTimeout(() => {
        atOnce -= 1;
        res.end(`[${req.url}]`);
      }, 5);
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const request = (path: number, close = '') => `GET /${path} HTTP/1.1\r\nHost: ${HOST}\r\n${close}\r\n`;
    const several = [1, 2, 3, 4, 5].map((path) => request(path)).join('') + request(6, 'Connection: close\r\n');
    const text = await sendRaw(edge.port, several);
    expect(text.match(/\[\/\d\]/g)).to.deep.equal(['[/1]', '[/2]', '[/3]', '[/4]', '[/5]', '[/6]']);
    expect(most).to.equal(1);
    expect(await sendRaw(edge.port, request(1).repeat(1_000))).not.to.include('[/1]');
    await eventually('nothing is left', () => edge.figures.connections === 0 && edge.figures.requests === 0);
  });

  it('lends a client only part of the encoders', () => {
    const budget = new EncoderBudget();
    const taken: (() => void)[] = [];
    for (let back = budget.take('a'); back !== null; back = budget.take('a')) taken.push(back);
    expect(budget.take('b')).not.to.equal(null);
    taken[0]?.();
    taken[0]?.();
    expect(budget.take('a')).not.to.equal(null);
    expect(budget.take('a')).to.equal(null);
  });

  it('counts the addresses of an IPv6 network as one client', () => {
    const counters: EdgeCounters = { failedExchanges: 0, closedConnections: 0, refusedConnections: 0 };
    const connections = new Connections({ perClient: 1, total: 9, slow: 9, stallMs: 1_000 }, counters, false);
    const socketOf = (remoteAddress: string) => {
      const socket = connect({ host: '127.0.0.1', port: 1 });
      socket.on('error', () => undefined);
      Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
      sockets.push(socket);
      return socket;
    };
    const first = socketOf('2001:db8::1');
    expect(connections.admit(first)).to.equal(true);
    const connection = connections.of(first);
    if (connection === undefined) throw new Error('it was not taken in');
    connection.exchanges = 1;
    expect(connections.admit(socketOf('2001:db8::2'))).to.equal(false);
    expect(connections.admit(socketOf('2001:db8:0:1::1'))).to.equal(true);
    connections.close();
  });
});

describe('edge containment', () => {
  const log = createLogger('test-edge', 'silent');
  const counters: EdgeCounters = { failedExchanges: 0, closedConnections: 0, refusedConnections: 0 };

  it('ends the exchange whose callback throws, and counts it', () => {
    const ended: unknown[] = [];
    const containment = new Containment({ log, counters, labels: {}, end: (error) => ended.push(error) });
    const error = new Error('thrown');
    containment.guard(() => {
      throw error;
    })();
    expect(ended).to.deep.equal([error]);
    expect(counters.failedExchanges).to.equal(1);
  });

  it('ends the exchange of an uncaught exception, even after a wait, and no other', async () => {
    const ended: unknown[] = [];
    const containment = new Containment({ log, counters, labels: {}, end: (error) => ended.push(error) });
    expect(containUncaught(new Error('outside'))).to.equal(false);
    const claimed = await containment.run(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return containUncaught('inside');
    });
    expect(claimed).to.equal(true);
    expect(ended).to.deep.equal(['inside']);
  });

  it('survives an end that throws', () => {
    const end = () => {
      throw new Error('no end');
    };
    expect(() => new Containment({ log, counters, labels: {}, end }).caught(new Error('x'))).not.to.throw();
  });
});

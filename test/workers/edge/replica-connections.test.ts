import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { containUncaught, ownSocket } from '../../../workers/edge/proxy/containment.js';
import type { Exchange } from '../../../workers/edge/proxy/exchange.js';
import { Attempt, type Outcome } from '../../../workers/edge/proxy/replicas/replica-attempt.js';
import { Upstream } from '../../../workers/edge/proxy/replicas/upstream.js';
import { eventually } from '../../support/processes.js';
import { ask, Bench, HOST, proxied, sendRaw, type TestEdge } from './support.js';

const FINE = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine';
const EVIL = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';

describe("The edge's connections to replicas", () => {
  let bench: Bench;
  let edge: TestEdge;
  let server: Server;
  let answer: (socket: Socket, request: string) => void;
  const open = new Set<Socket>();
  let connections = 0;

  beforeEach(async () => {
    bench = new Bench();
    connections = 0;
    answer = (socket) => socket.write(FINE);
    server = createServer((socket) => {
      connections += 1;
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => open.delete(socket));
      socket.on('data', (chunk) => answer(socket, chunk.toString('latin1')));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    edge = await bench.edge();
    const { port } = server.address() as AddressInfo;
    await edge.apply(proxied([{ id: 'raw', address: '127.0.0.1', port, server: server as never }]));
  });
  afterEach(async () => {
    await bench.close();
    for (const socket of open) socket.destroy();
    server.close();
  });

  it('carry one request after another', async () => {
    for (let i = 0; i < 20; i++) expect((await ask(edge.port, '/')).text).to.equal('fine');
    expect(connections).to.be.lessThan(20);
  });

  it('are closed if something arrives that was not asked for, and it answers nobody', async () => {
    answer = (socket) => socket.write(FINE + EVIL);
    for (let i = 0; i < 5; i++) expect((await ask(edge.port, '/')).text).to.equal('fine');
    expect(connections).to.equal(5);
    answer = (socket) => socket.write(FINE);
    expect((await ask(edge.port, '/')).text).to.equal('fine');
    for (const socket of open) socket.write(EVIL);
    await eventually('the idle connection is closed', () => open.size === 0);
    expect((await ask(edge.port, '/')).text).to.equal('fine');
  });

  it('are closed after HEAD, because some servers send a body that would answer the next request', async () => {
    answer = (socket, text) =>
      socket.write(text.startsWith('HEAD ') ? 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n' : FINE);
    expect((await ask(edge.port, '/', { method: 'HEAD' })).headers['content-length']).to.equal('4');
    expect((await ask(edge.port, '/')).text).to.equal('fine');
    expect(connections).to.equal(2);
  });

  it('are closed if the answer comes before the end of the body', async () => {
    const outgoing = request({
      port: edge.port,
      method: 'POST',
      agent: false,
      headers: { host: HOST, 'content-length': 9 },
    });
    outgoing.on('error', () => undefined);
    outgoing.write('half');
    const [response] = await once(outgoing, 'response');
    expect((await response.toArray()).join('')).to.equal('fine');
    await eventually('the connection is closed', () => open.size === 0);
    outgoing.destroy();
  });

  it('carry a body without a length in chunks', async () => {
    let seen = '';
    answer = (socket, text) => {
      seen += text;
      if (seen.endsWith('0\r\n\r\n')) socket.write(FINE);
    };
    const outgoing = request({ port: edge.port, method: 'POST', agent: false, headers: { host: HOST } });
    outgoing.write('one');
    await eventually('the first part is there', () => seen.includes('one'));
    outgoing.end('second');
    const [response] = await once(outgoing, 'response');
    expect((await response.toArray()).join('')).to.equal('fine');
    expect(seen)
      .to.match(/\r\ntransfer-encoding: chunked\r\n/i)
      .and.to.match(/\r\n\r\n3\r\none\r\n6\r\nsecond\r\n0\r\n\r\n$/);
  });

  it('carry the length of a body that is not there', async () => {
    let seen = '';
    answer = (socket, text) => {
      seen = text;
      socket.write(FINE);
    };
    const host = `Host: ${HOST}\r\nConnection: close\r\n\r\n`;
    await sendRaw(edge.port, `POST / HTTP/1.1\r\n${host}`);
    expect(seen).to.match(/\r\ncontent-length: 0\r\n/i);
    await sendRaw(edge.port, `GET / HTTP/1.1\r\n${host}`);
    expect(seen).not.to.match(/content-length/i);
  });

  it('send nothing if the client has left by the time they stand', async () => {
    let seen = 0;
    server.on('connection', (socket) => socket.on('data', () => (seen += 1)));
    const { port } = server.address() as AddressInfo;
    const upstream = new Upstream({ id: 'raw', address: '127.0.0.1', port }, { connectMs: 5_000, headersMs: 5_000 });
    const exchange = { onClientGone: null, res: {} } as unknown as Exchange;
    const request = { method: 'POST', path: '/', headers: [], body: null, upgrade: null };
    let outcome = '';
    const ended = ({ type }: Outcome) => (outcome = type);
    new Attempt(exchange, upstream, request, ended).start();
    // The connection is being opened now.
    await setImmediate();
    exchange.onClientGone?.();
    const [socket] = await once(server, 'connection');
    await once(socket, 'close');
    expect([outcome, seen]).to.deep.equal(['client-gone', 0]);
  });

  it('are found by what escapes from one of their events', async () => {
    const caught: unknown[] = [];
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    ownSocket(socket, (error) => caught.push(error));
    const contained = new Promise((resolve) => socket.once('data', () => resolve(containUncaught('in an event'))));
    socket.write('x');
    expect(await contained).to.equal(true);
    const later = new Promise((resolve) => socket.write('x', () => resolve(containUncaught('after a write'))));
    expect(await later).to.equal(true);
    expect(caught).to.deep.equal(['in an event', 'after a write']);
    const elsewhere = await new Promise((resolve) => setTimeout(() => resolve(containUncaught('in a timer')), 1));
    expect(elsewhere).to.equal(false);
    socket.destroy();
  });
});

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { assert, expect } from 'chai';
import {
  assertEngine,
  connectEngine,
  type Engine,
  engineMessage,
  isRefusal,
} from '../../../workers/docker/docker-engine.js';
import { closeStreamsOfLostEngine } from '../../../workers/docker/engine-watch.js';

describe('Talking to a Docker engine', () => {
  let server: Server;

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function engine(answer: RequestListener): Promise<Engine> {
    server = createServer(answer).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return connectEngine({ docker: { host: `tcp://127.0.0.1:${port}`, registryUrl: null } }, 200);
  }

  async function failure(work: Promise<unknown>): Promise<string> {
    return work.then(
      () => 'none',
      (error: unknown) => engineMessage(error),
    );
  }

  it('has a time limit for answers, and for the rest of an answer that has begun', async () => {
    const silent = await engine(() => undefined);
    expect(await failure(silent.calls.listTasks())).to.equal('no answer within 0.2 s');
    server.closeAllConnections();
    server.close();
    const halting = await engine((_, response) => response.writeHead(200).write('['));
    expect(await failure(halting.calls.listTasks())).to.equal('no answer within 0.2 s');
  });

  it('closes the streams of an engine that no longer answers', async () => {
    let isThere = true;
    const { streams } = await engine((request, response) => {
      if (request.url?.includes('events')) response.writeHead(200).write('{}');
    });
    closeStreamsOfLostEngine(streams, async () => assert(isThere, 'gone'), 20);
    const events = await streams.getEvents();
    events.resume();
    const end = once(events, 'close').catch((error: Error) => error);
    const sooner = await Promise.race([end, delay(300, 'still open')]);
    expect(sooner).to.equal('still open');
    isThere = false;
    await end;
  });

  it('is asked again if it is not in its swarm yet, and not if it refuses the request', () => {
    const answer = (statusCode: number, message: string) => ({ statusCode, json: { message } });
    const early = answer(403, 'cannot create a swarm scoped network when swarm is not active');
    expect(isRefusal(early)).to.equal(false);
    expect(isRefusal(answer(400, 'invalid mount config'))).to.equal(true);
    expect(isRefusal(answer(503, 'This node is not a swarm manager.'))).to.equal(false);
    expect(isRefusal(new Error('connect ECONNREFUSED'))).to.equal(false);
  });

  it("returns the engine's own message", async () => {
    const refusing = await engine((_, response) => {
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end('{"message":"This node is not a swarm manager."}');
    });
    expect(await failure(refusing.calls.listTasks())).to.equal('This node is not a swarm manager.');
  });

  it('refuses an engine that is too old', async () => {
    const old = await engine((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"Version":"19.03.15","ApiVersion":"1.40"}');
    });
    expect(await failure(assertEngine(old))).to.match(
      /^DOCKER_HOST=tcp:.*: Docker 19\.03\.15 \(API 1\.40\) is too old; upgrade it to 20\.10 or newer$/,
    );
  });
});

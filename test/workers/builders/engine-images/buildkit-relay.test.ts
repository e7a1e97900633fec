import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { expect } from 'chai';
import { openRelay, type Relay } from '../../../../workers/builders/engine-images/buildkit-relay.js';
import { eventually } from '../../../support/processes.js';

const CONTROL = '/moby.buildkit.v1.Control';
/** Calls that read or change BuildKit's data of other services, and unknown calls. */
const REFUSED = [
  `${CONTROL}/DiskUsage`,
  `${CONTROL}/Prune`,
  `${CONTROL}/ListenBuildHistory`,
  `${CONTROL}/UpdateBuildHistory`,
  '/containerd.services.content.v1.Content/List',
  '/containerd.services.content.v1.Content/Read',
  '/moby.buildkit.v1.frontend.LLBBridge/Solve',
  '/moby.buildkit.v1.Control/solve',
  '/moby.buildkit.v1.Control//Solve',
  '/a.new.Service/Call',
];

const asIs = (bytes: Buffer) => bytes;

describe('The relay to BuildKit', () => {
  let folder: string;
  let buildkit: Server;
  let relay: Relay;
  let client: Client;
  let reached: string[];
  let cancelled: number;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-relay-'));
    [reached, cancelled] = [[], 0];
    buildkit = startBuildkit();
    const socket = join(folder, 'buildkitd.sock');
    await new Promise<void>((resolve, reject) => {
      const bound = (error: Error | null) => (error ? reject(error) : resolve());
      buildkit.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), bound);
    });
    relay = await openRelay(join(folder, 'relay'), `unix://${socket}`);
    client = new Client(`unix:${join(folder, 'relay')}`, credentials.createInsecure());
  });
  afterEach(async () => {
    client.close();
    relay.close();
    buildkit.forceShutdown();
    await rm(folder, { recursive: true, force: true });
  });

  function startBuildkit(): Server {
    const server = new Server();
    for (const path of [`${CONTROL}/Solve`, `${CONTROL}/Info`, `${CONTROL}/ListWorkers`, ...REFUSED]) {
      const handler = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
        reached.push(path);
        if (String(call.request) === 'fail') return callback({ code: status.NOT_FOUND, details: 'no such cache' });
        if (String(call.request) === 'hang') {
          call.on('cancelled', () => {
            cancelled += 1;
          });
          return;
        }
        const trailer = new Metadata();
        trailer.set('x-built', 'yes');
        callback(null, call.request, trailer);
      };
      server.register(path, handler, asIs, asIs, 'unary');
    }
    const echo = (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on('data', (data: Buffer) => call.write(data));
      call.on('end', () => call.end());
    };
    server.register(`${CONTROL}/Session`, echo, asIs, asIs, 'bidi');
    return server;
  }

  function call(path: string, request: string): Promise<{ answer: string; trailer: Metadata }> {
    return new Promise((resolve, reject) => {
      let answer = '';
      let failure: ServiceError | null = null;
      const running = client.makeUnaryRequest(path, asIs, asIs, Buffer.from(request), (error, value) => {
        failure = error;
        answer = String(value);
      });
      running.on('status', ({ metadata }) => (failure ? reject(failure) : resolve({ answer, trailer: metadata })));
    });
  }

  const refusal = (path: string) =>
    call(path, 'x').then(
      () => null,
      (error: ServiceError) => error,
    );

  for (const path of REFUSED) {
    it(`refuses ${path}, and BuildKit never sees it`, async () => {
      const error = await refusal(path);
      expect(error?.code).to.equal(status.PERMISSION_DENIED);
      expect(error?.details).to.equal(`builds may not call ${path}`);
      expect(reached).to.deep.equal([]);
    });
  }

  it('passes the calls of a build on, with their trailers and failures', async () => {
    for (const method of ['Solve', 'Info', 'ListWorkers']) {
      const { answer, trailer } = await call(`${CONTROL}/${method}`, method);
      expect(answer).to.equal(method);
      expect(trailer.get('x-built')).to.deep.equal(['yes']);
    }
    const error = await call(`${CONTROL}/Solve`, 'fail').catch((reason: ServiceError) => reason);
    expect(error).to.deep.include({ code: status.NOT_FOUND, details: 'no such cache' });
    expect(relay.fault).to.equal(null);
  });

  it('goes on to serve a connection after a call that it refused', async () => {
    await refusal(`${CONTROL}/DiskUsage`);
    expect((await call(`${CONTROL}/Solve`, 'more')).answer).to.equal('more');
  });

  it('carries a session in both directions, many megabytes long', async () => {
    const session = client.makeBidiStreamRequest(`${CONTROL}/Session`, asIs, asIs);
    const chunk = Buffer.alloc(1024 * 1024, 7);
    let received = 0;
    session.on('data', (data: Buffer) => {
      received += data.length;
    });
    for (let i = 0; i < 24; i++) if (!session.write(chunk)) await once(session, 'drain');
    session.end();
    await once(session, 'end');
    expect(received).to.equal(24 * chunk.length);
  });

  it('cancels a call in BuildKit when the client cancels it', async () => {
    const running = client.makeUnaryRequest(`${CONTROL}/Solve`, asIs, asIs, Buffer.from('hang'), () => {});
    await eventually('BuildKit has the call', async () => reached.length === 1);
    running.cancel();
    await eventually('BuildKit sees the cancellation', async () => cancelled === 1);
  });

  it('ends the calls in BuildKit when it is closed', async () => {
    client.makeUnaryRequest(`${CONTROL}/Solve`, asIs, asIs, Buffer.from('hang'), () => {});
    await eventually('BuildKit has the call', async () => reached.length === 1);
    relay.close();
    await eventually('BuildKit sees the end', async () => cancelled === 1);
  });

  it('survives clients that do not speak HTTP/2', async () => {
    for (const text of ['GET / HTTP/1.1\r\n\r\n', '\0'.repeat(100_000), 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0']) {
      const socket = connect(join(folder, 'relay'));
      socket.on('error', () => {}).on('data', () => {});
      socket.write(text);
      socket.end();
      await once(socket, 'close');
    }
    expect((await call(`${CONTROL}/Info`, 'still there')).answer).to.equal('still there');
  });

  it('says why BuildKit cannot be reached', async () => {
    const lost = await openRelay(join(folder, 'lost'), `unix://${join(folder, 'nothing')}`);
    const other = new Client(`unix:${join(folder, 'lost')}`, credentials.createInsecure());
    try {
      const error = await new Promise<ServiceError | null>((resolve) => {
        other.makeUnaryRequest(`${CONTROL}/Info`, asIs, asIs, Buffer.from(''), resolve);
      });
      expect(error?.code).to.equal(status.UNAVAILABLE);
      expect(lost.fault?.message).to.contain('ENOENT');
    } finally {
      other.close();
      lost.close();
    }
  });
});

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { peerUser } from '../../../api/auth/peer-user.js';
import { clientOfSocket, localClient } from '../../../api/http/client-identity.js';

describe('The user at the other end of a connection', () => {
  let server: Server;
  let port: number;
  const ends: Socket[] = [];

  before(async function () {
    if (process.platform !== 'linux') this.skip();
    server = createServer({ allowHalfOpen: true }).listen(0, '::');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => {
    for (const socket of ends.splice(0)) socket.destroy();
  });
  after(() => server?.close());

  async function connected(host: string): Promise<{ far: Socket; near: Socket }> {
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const far = connect({ port, host, allowHalfOpen: true });
    const [near] = await accepted;
    ends.push(far, near);
    near.resume();
    return { far, near };
  }

  for (const host of ['127.0.0.1', '127.0.0.9', '::1', '::ffff:127.0.0.1']) {
    it(`is known at ${host}`, async () => {
      const { near } = await connected(host);
      expect(await peerUser(near)).to.equal(process.getuid?.());
      expect(await clientOfSocket(near)).to.equal(localClient(process.getuid?.() ?? null));
    });
  }

  it('is known for many connections that come at once', async () => {
    const all: Socket[] = [];
    for (let i = 0; i < 50; i++) all.push((await connected(i % 2 === 0 ? '127.0.0.1' : '::1')).near);
    const users = await Promise.all(all.map((socket) => peerUser(socket)));
    expect(new Set(users)).to.deep.equal(new Set([process.getuid?.()]));
  });

  it('is not known once the other end has closed: the kernel shows user 0 then', async () => {
    const { far, near } = await connected('127.0.0.1');
    far.end();
    await once(near, 'end');
    expect(await peerUser(near)).to.equal(null);
  });
});

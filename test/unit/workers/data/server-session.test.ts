import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { withSession } from '../../../../workers/data/server-session.js';
import { asAdmin } from '../../../../workers/data/settle-postgres.js';
import { listen } from '../../../support/http.js';
import { messageOf } from '../../../support/outcomes.js';

const PASSWORD = 'the password of the platform';

describe('A session on a server that is not PostgreSQL', () => {
  let server: Server;
  let port: number;
  let received: string;
  let serve: (peer: Socket) => void;

  beforeEach(async () => {
    received = '';
    server = createServer((peer) => {
      peer.on('error', () => undefined);
      peer.on('data', (chunk) => {
        received += chunk.toString('latin1');
      });
      peer.once('data', () => serve(peer));
    });
    port = await listen(server);
  });
  afterEach(() => server.close());

  const address = () => ({ host: '127.0.0.1', port, password: PASSWORD });
  const ask = (signal = new AbortController().signal) =>
    messageOf(
      withSession({ ...address(), user: 'admin', database: 'postgres' }, { signal }, (client) =>
        client.query('select 1'),
      ),
    );
  const message = (type: string, ...content: (number | string)[]) => {
    const body = Buffer.concat(
      content.map((part) => {
        if (typeof part === 'string') return Buffer.from(part);
        const number = Buffer.alloc(4);
        number.writeInt32BE(part);
        return number;
      }),
    );
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const ACCEPTED = Buffer.concat([message('R', 0), message('Z', 'I')]);

  for (const [way, request] of [
    ['as text', message('R', 3)],
    ['as MD5', message('R', 5, 'salt')],
  ] as const) {
    it(`sends it no password ${way}`, async () => {
      serve = (peer) => peer.write(Buffer.concat([message('N', 'Mnothing\0\0'), request]));
      expect(await ask()).to.contain('asks for the password itself');
      expect(received)
        .to.not.contain(PASSWORD)
        .and.to.not.match(/p\0\0\0.md5/);
    });
  }

  it('ends if its answer has no end', async function () {
    this.timeout(20_000);
    serve = (peer) => {
      peer.write(ACCEPTED);
      const rest = message('D', '\0\0').fill(0);
      rest.write('D');
      rest.writeInt32BE(0x3fff_ffff, 1);
      peer.write(rest);
      const flood = () => {
        while (!peer.destroyed && peer.write(Buffer.alloc(1024 * 1024)));
      };
      peer.on('drain', flood);
      flood();
    };
    expect(await ask()).to.contain('too large');
  });

  it('ends at once if it is given up, though the server neither answers nor closes', async () => {
    serve = (peer) => peer.write(ACCEPTED);
    const began = Date.now();
    await ask(AbortSignal.timeout(300));
    expect(Date.now() - began).to.be.lessThan(5_000);
  });

  it('of the platform stands above the settings of databases and roles', async () => {
    serve = (peer) => peer.destroy();
    await asAdmin(address(), async () => undefined).catch(() => undefined);
    expect(received).to.contain('-c search_path=pg_catalog').and.to.contain('-c role=none');
  });
});

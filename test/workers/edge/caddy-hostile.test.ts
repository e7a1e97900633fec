import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { CaddyEdge } from '../../../workers/edge/caddy/caddy-edge.js';
import { describeCaddy, startCaddy, type TestCaddy } from '../../support/caddy.js';
import { HOSTILE_ANSWERS } from '../../support/hostile-answers.js';
import { freePorts } from '../../support/processes.js';
import { HOST, tableWith } from './support.js';

const REQUESTS = {
  'an ordinary request': 'Connection: close\r\n',
  'a request for another protocol': 'Connection: Upgrade, close\r\nUpgrade: websocket\r\n',
};

describeCaddy('what a visitor gets through Caddy where an application answers with rubbish', () => {
  let caddy: TestCaddy;
  let edge: CaddyEdge;
  let folder: string;
  let port: number;
  let application: Server;
  let answer = '';

  before(async () => {
    caddy = await startCaddy();
    folder = await mkdtemp(join(tmpdir(), 'ranvier-edge-'));
    [port = 0] = await freePorts(1);
    edge = new CaddyEdge({
      port,
      domain: 'test',
      adminUrl: caddy.adminUrl,
      socketDir: folder,
      tls: null,
      imagesDir: '/none',
      log: createLogger('test-edge', 'silent'),
      refresh: async () => undefined,
    });
    await edge.listen();
    application = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(answer, 'latin1'));
    }).listen(0, '127.0.0.1');
    await once(application, 'listening');
    const { port: target } = application.address() as AddressInfo;
    const replica = { id: 'hostile', address: '127.0.0.1', port: target };
    await edge.apply(tableWith({ target: { type: 'proxy', replicas: [replica] } }));
  });
  after(async () => {
    await edge.close();
    await caddy.stop();
    application.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function raw(headers: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n${headers}\r\n`);
    await once(socket, 'close');
    return text;
  }

  for (const [kind, headers] of Object.entries(REQUESTS)) {
    for (const [name, bytes] of Object.entries(HOSTILE_ANSWERS)) {
      it(`${name}, to ${kind}`, async () => {
        answer = bytes;
        const text = await raw(headers);
        const end = text.indexOf('\r\n\r\n');
        expect(end, text).to.be.greaterThan(0);
        const [status, ...lines] = text.slice(0, end).split('\r\n');
        expect(status).to.match(/^HTTP\/1\.1 [1-9]\d\d( [ -~]*)?$/);
        for (const line of lines) expect(line).to.match(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[\t -~\x80-\xff]*$/);
        expect(lines.filter((line) => /^(x-smuggled|set-cookie):/i.test(line))).to.deep.equal([]);
        expect(text.slice(end)).to.not.include('HTTP/1.1');
      });
    }
  }
});

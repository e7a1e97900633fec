import { once } from 'node:events';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import { createKey } from '../../shared/identity/commands.js';
import { ApiClient } from '../support/client.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

/** Answers HTTP with the number of flooded bytes, echoes what begins with "echo", and otherwise floods. */
const SERVER = {
  'server.js': `
    const net = require('node:net');
    let sent = 0;
    net.createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {});
      let kept = Buffer.alloc(0);
      socket.on('data', (chunk) => {
        kept = Buffer.concat([kept, chunk]);
        const text = kept.toString('latin1', 0, 5);
        if (text === 'flood') {
          const send = () => { while (!socket.destroyed && socket.write(Buffer.alloc(65536))) { sent += 65536; } };
          socket.on('drain', send);
          send();
        } else if (/^(GET|HEAD)/.test(text)) socket.end('HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n' + sent);
      });
      socket.on('end', () => socket.end(kept));
    }).listen(process.env.PORT);`,
};

interface Entry {
  operation: string;
  details: Record<string, unknown> | null;
}

class Connection {
  readonly socket: WebSocket;
  readonly ended: Promise<number>;
  chunks: Buffer[] = [];
  bytes = 0;
  eof = false;

  constructor(address: string) {
    this.socket = new WebSocket(address);
    this.socket.on('error', () => undefined);
    this.socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (!isBinary) this.eof = (JSON.parse(data.toString()) as { eof?: boolean }).eof === true;
      else {
        this.bytes += data.length;
        this.chunks.push(data);
      }
    });
    this.ended = new Promise((resolve) => this.socket.on('close', resolve));
  }

  async opened(): Promise<this> {
    if (this.socket.readyState === WebSocket.CONNECTING) await once(this.socket, 'open');
    return this;
  }

  end(): void {
    this.socket.send('{"eof":true}');
  }

  get received(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

describe('A tunnel', function () {
  this.timeout(240_000);
  let platform: Platform;
  let service: Service;
  usePlatform({ engine: ENGINES[0] ?? 'postgres', env: { STOP_GRACE_SECONDS: '2' } }, async (started) => {
    platform = started;
    ({ service } = await platform.serviceOf('shop', SERVER, { startCommand: 'node server.js' }));
    await deploy(platform.client, service.id);
  });

  const prepare = async (body: object = {}, client = platform.client, { id } = service) =>
    (await client.expect<{ tunnel: { id: string; address: string } }>('POST', `/services/${id}/tunnels`, body)).tunnel
      .address;
  const open = async (address: string) => new Connection(address).opened();
  const otherKey = async () => {
    const { workspaceId } = platform.client;
    const input = { workspaceId, email: 'owner@example.test', scope: 'write', name: 'other', expiresAt: null } as const;
    const { key, row } = await createKey(platform.database.db, input);
    return { client: new ApiClient(`http://127.0.0.1:${platform.apiPort}/api/v1`, workspaceId, key), id: row.id };
  };

  it('counts in the usage of its service', async () => {
    const connection = await open(await prepare());
    connection.socket.send(Buffer.alloc(900_000));
    connection.end();
    await connection.ended;
    const bytes = await eventually('its bytes are counted', async () => {
      const path = `/services/${service.id}/metrics?hours=1`;
      const { metrics } = await platform.client.expect<{
        metrics: { series: { name: string; points: [string, number][] }[] };
      }>('GET', path);
      // The bytes may be counted in two parts, and the second may be in the next minute.
      const points = metrics.series.find(({ name }) => name === 'bytes_out')?.points ?? [];
      const sent = points.reduce((sum, [, part]) => sum + part, 0);
      return sent >= 900_000 && sent;
    });
    expect(bytes).to.be.lessThan(1_000_000);
  });

  it('carries bytes in both directions, and lets each end for itself', async () => {
    const address = await prepare();
    const text = Buffer.from(`echo ${'0123456789'.repeat(300_000)}`);
    const connections = await Promise.all([open(address), open(address)]);
    for (const connection of connections) {
      for (let at = 0; at < text.length; at += 500_000) connection.socket.send(text.subarray(at, at + 500_000));
      connection.end();
    }
    for (const connection of connections) {
      expect(await connection.ended).to.equal(1000);
      expect(connection.eof).to.equal(true);
      expect(connection.received.equals(text)).to.equal(true);
    }
  });

  it('takes fifty connections, also of clients that come at once', async () => {
    const address = await prepare();
    const clients = Array.from({ length: 70 }, () => new WebSocket(address));
    const opened = await Promise.all(
      clients.map(
        (client) =>
          new Promise<boolean>((resolve) => {
            client.once('open', () => resolve(true));
            client.once('error', () => resolve(false));
          }),
      ),
    );
    expect(opened.filter(Boolean)).to.have.length(50);
    for (const client of clients) client.terminate();
    const again = await eventually('a place is free', async () => {
      const client = new Connection(address);
      const free = await Promise.race([client.opened().then(() => true), client.ended.then(() => false)]);
      return free ? client : undefined;
    });
    again.socket.terminate();
  });

  it('reaches a database by its port', async () => {
    const redis = await createService(platform.client, { name: 'cache', kind: 'redis', configuration: {} });
    await deploy(platform.client, redis.id);
    const connection = await open(await prepare({}, platform.client, redis));
    connection.socket.send(Buffer.from('PING\r\n'));
    await eventually('it answers', () => /PONG|NOAUTH/.test(connection.received.toString()) || undefined);
    connection.socket.close();
  });

  it('reaches no port on which the replica does not listen', async () => {
    expect(await new Connection(await prepare({ port: 1 })).ended).to.equal(4404);
    expect(await new Connection(await prepare({ port: platform.apiPort })).ended).to.equal(4404);
  });

  it('holds up a service that sends faster than the client reads', async () => {
    const connection = await open(await prepare());
    connection.socket.send(Buffer.from('flood'));
    await eventually('it sends', () => connection.bytes > 0 || undefined);
    connection.socket.pause();
    const sent = async () => (await platform.visit(service)).body;
    await eventually('it sends no more', async () => {
      const first = await sent();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return Number(first) > 0 && first === (await sent());
    });
    connection.socket.terminate();
  });

  it('ends within two seconds when its key is revoked', async () => {
    const { client, id } = await otherKey();
    const address = await prepare({}, client);
    const connection = await open(address);
    connection.socket.send(Buffer.from('echo'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const at = Date.now();
    await platform.client.expect('DELETE', `/keys/${id}`);
    expect(await connection.ended).to.equal(4401);
    expect(Date.now() - at).to.be.lessThan(3_000);
    expect(await new Connection(address).ended).to.equal(1006);
  });

  it('is recorded in the audit log with its bytes', async () => {
    const connection = await open(await prepare());
    connection.socket.send(Buffer.from('echo-of-13-by'));
    connection.end();
    await connection.ended;
    const ended = await eventually('its end is recorded', async () =>
      (await platform.client.expect<{ entries: Entry[] }>('GET', '/audit?limit=100')).entries.find(
        ({ operation, details }) => operation === 'tunnel.end' && details?.bytesToClient === 13,
      ),
    );
    expect(ended.details).to.include({ connections: 1, port: null, address: '127.0.0.1' });
  });

  it('is recorded in the audit log if the API process ends first', async () => {
    const connection = await open(await prepare());
    connection.socket.send(Buffer.from('echo'));
    await eventually('the service has it', async () => {
      const [row] = await platform.database.db('remote_sessions').orderBy('created_at', 'desc').limit(1);
      return row?.opened_at !== null;
    });
    const [api] = platform.processes.filter(({ name, ended }) => name === 'api' && !ended);
    await api?.stop();
    await platform.startApi();
    const { entries } = await platform.client.expect<{ entries: Entry[] }>('GET', '/audit?limit=1');
    expect(entries[0]).to.include({ operation: 'tunnel.end' });
    expect(entries[0]?.details).to.include({ reason: 'the API process ended' });
  });
});

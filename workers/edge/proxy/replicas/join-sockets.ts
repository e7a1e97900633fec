import type { Socket } from 'node:net';
import type { Exchange } from '../exchange.js';
import { valuesOf } from '../proxy-headers.js';
import { backlogOf } from '../visitors/client-connection.js';
import { PacedWriter } from '../visitors/paced-writer.js';
import { clientHeaders } from './answer-head.js';

/** Connects a client and a replica that has accepted the client's upgrade. */
export function joinSockets(exchange: Exchange, raw: readonly string[], socket: Socket): void {
  const { res, upgrade, connection } = exchange;
  if (upgrade === null || upgrade.socket.destroyed) return void socket.destroy();
  const answer = switchingHead(raw, exchange);
  res.detachSocket(upgrade.socket);
  exchange.onJoined();
  connection.upload = () => backlogOf(socket);
  join(exchange, upgrade.socket, socket);
  upgrade.socket.write(answer, 'latin1');
  if (upgrade.head.length > 0) upgrade.socket.unshift(upgrade.head);
}

/** Detects the disconnection of a client whose upgrade was refused. Nothing else reads from its connection. */
export function noticeEnd(client: Socket): void {
  client.once('end', () => client.destroySoon());
  client.resume();
}

function switchingHead(raw: readonly string[], exchange: Exchange): string {
  const headers = ['Connection', 'Upgrade', 'Upgrade', valuesOf(raw, 'upgrade')];
  headers.push(...clientHeaders(raw, exchange));
  let head = 'HTTP/1.1 101 Switching Protocols\r\n';
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${head}\r\n`;
}

function join({ containment }: Exchange, client: Socket, replica: Socket): void {
  for (const [from, to] of [
    [client, replica],
    [replica, client],
  ] as const) {
    from.setNoDelay(true);
    from.setTimeout(0);
    // Many connections end with a reset. 'close' follows and closes the other side.
    from.on('error', () => undefined);
    const writer = new PacedWriter(to, from);
    from.on(
      'data',
      containment.guard((chunk: Buffer) => writer.write(chunk)),
    );
    from.once('end', () => writer.end());
  }
  client.once('close', () => replica.destroy());
  // `destroySoon` first sends the replica's last bytes.
  replica.once('close', () => client.destroySoon());
}

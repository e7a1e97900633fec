import type { Socket } from 'node:net';
import { clientKey, isLoopback } from '../../shared/core/client-address.js';
import { peerUser } from '../auth/peer-user.js';
import type { ApiContext } from './request-state.js';

/**
 * Identifies the client for limits and for sessions without TLS: by its address (IPv6: the /64). A process of this host is identified
 * by its user, because hosted applications have the same address as a browser on the host.
 */
export async function clientOf(ctx: ApiContext): Promise<string> {
  const { socket } = ctx.req;
  if (!isHere(ctx.ip, socket)) return clientKey(ctx.ip);
  return isHere(socket.remoteAddress ?? '', socket) ? clientOfSocket(socket) : localClient(null);
}

/** Identifies the client at the other end of a socket, which can be a proxy. */
export async function clientOfSocket(socket: Socket): Promise<string> {
  const { remoteAddress = '' } = socket;
  return isHere(remoteAddress, socket) ? localClient(await peerUser(socket)) : clientKey(remoteAddress);
}

/** Names the processes of one user of this host; null: an unknown user. */
export function localClient(user: number | null): string {
  return `local user ${user ?? 'unknown'}`;
}

/**
 * Returns true for an address of this host.
 * A loopback address, or the address that the connection was made to.
 */
function isHere(address: string, { localAddress = '' }: Socket): boolean {
  const bare = (text: string) => text.replace(/^::ffff:/i, '');
  return isLoopback(address) || bare(address) === bare(localAddress);
}

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { clientKey, isLoopback } from '../../shared/core/client-address.js';
import { peerUser } from '../auth/peer-user.js';
import type { ApiContext } from './request-state.js';

/**
 * Returns the client's key: its address (IPv6: the /64) or, on this host, its Unix user. Hosted applications have the
 * same address as a browser on the host.
 */
export async function clientOf(ctx: ApiContext): Promise<string> {
  const { socket } = ctx.req;
  if (!isHere(ctx.ip, socket)) return clientKey(ctx.ip);
  return isHere(socket.remoteAddress ?? '', socket) ? clientOfSocket(socket) : localClient(null);
}

/** Returns the address of a request's client. Behind the trusted proxy, it is the address that the proxy reports. */
export function clientAddress({ headers, socket }: IncomingMessage, behindProxy: boolean): string {
  const forwarded = behindProxy
    ? String(headers['x-forwarded-for'] ?? '')
        .split(',')
        .at(-1)
        ?.trim()
    : '';
  return (forwarded || socket.remoteAddress || '').replace(/^::ffff:/i, '');
}

/** Returns the key of the client at the other end of a socket, which may be a proxy. */
export async function clientOfSocket(socket: Socket): Promise<string> {
  const { remoteAddress = '' } = socket;
  return isHere(remoteAddress, socket) ? localClient(await peerUser(socket)) : clientKey(remoteAddress);
}

/** Returns the client key of all processes of one local Unix user. Null means an unknown user. */
export function localClient(user: number | null): string {
  return `local user ${user ?? 'unknown'}`;
}

/** Returns true for loopback, and for the address that the client connected to. */
function isHere(address: string, { localAddress = '' }: Socket): boolean {
  const bare = (text: string) => text.replace(/^::ffff:/i, '');
  return isLoopback(address) || bare(address) === bare(localAddress);
}

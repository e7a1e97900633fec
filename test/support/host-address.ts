import { networkInterfaces } from 'node:os';

/**
 * An address of this host at which a test's server is reached from sandboxes, and the setting with which a platform allows
 * it: in a network of their own they reach neither the host's loopback nor its private addresses.
 */
export function reachableAddress(): { address: string; env: Record<string, string> } {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const own = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  // A host without another address has only the network that all share.
  if (own === undefined) return { address: '127.0.0.1', env: { NETWORK: 'shared' } };
  return { address: own.address, env: { EGRESS_ALLOW: own.address } };
}

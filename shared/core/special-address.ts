import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Address ranges without public servers. ipaddr.js counts the first two as public unicast. The third is listed in case
 * ipaddr.js does not know all of it.
 */
const FURTHER = ['::/96', '100:0:0:1::/64', '2001::/23'].map((range) => ipaddr.parseCIDR(range));

/**
 * Returns true for an address that is not public unicast. These are private, shared and link-local networks, loopback,
 * multicast, documentation, and IPv6 addresses that embed an IPv4 address. Returns false for text that is not an
 * address.
 */
export function isSpecialAddress(text: string): boolean {
  // Accepts only the forms that a resolver or the system prints: `ipaddr.js` alone would also accept `127.1` or octal.
  if (isIP(text) === 0) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return true;
  return FURTHER.some((range) => range[0].kind() === address.kind() && address.match(range));
}

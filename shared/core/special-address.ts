import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** ipaddr.js counts the first two ranges as public unicast, and may not know all of the third. */
const FURTHER = ['::/96', '100:0:0:1::/64', '2001::/23'].map((range) => ipaddr.parseCIDR(range));

/** Returns true for an address that is not public unicast; false for text that is no address. */
export function isSpecialAddress(text: string): boolean {
  // ipaddr.js would also accept `127.1` and octal numbers.
  if (isIP(text) === 0) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return true;
  return FURTHER.some((range) => range[0].kind() === address.kind() && address.match(range));
}

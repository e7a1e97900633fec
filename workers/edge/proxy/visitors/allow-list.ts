import { BlockList, isIP } from 'node:net';

/** Compiles an allow list of IP ranges. An empty list becomes null, which admits all. */
export function compileAllowList(ranges: readonly string[]): BlockList | null {
  if (ranges.length === 0) return null;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = isIP(address);
    if (family === 0) continue;
    const bits = family === 4 ? 32 : 128;
    const length = prefix === undefined ? bits : Number(prefix);
    if (Number.isInteger(length) && length >= 0 && length <= bits) list.addSubnet(address, length, familyName(family));
  }
  return list;
}

/** Returns true if the list admits the address. */
export function isAllowed(list: BlockList | null, address: string): boolean {
  if (list === null) return true;
  // A link-local IPv6 address ends with its zone (`%eth0`), which the list does not contain.
  const [plain = ''] = address.split('%');
  const family = isIP(plain);
  return family !== 0 && list.check(plain, familyName(family));
}

function familyName(family: number): 'ipv4' | 'ipv6' {
  return family === 4 ? 'ipv4' : 'ipv6';
}

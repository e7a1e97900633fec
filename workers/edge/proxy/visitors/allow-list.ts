import { BlockList, isIP } from 'node:net';

/** Compiles a list of ranges. Null, which admits every address, for an empty list. An entry that is not a range admits none. */
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

/** True if the list admits the address. Text that is not an IP address is never admitted by a list. */
export function isAllowed(list: BlockList | null, address: string): boolean {
  if (list === null) return true;
  // A link-local address ends with its zone.
  const [plain = ''] = address.split('%');
  const family = isIP(plain);
  return family !== 0 && list.check(plain, familyName(family));
}

function familyName(family: number): 'ipv4' | 'ipv6' {
  return family === 4 ? 'ipv4' : 'ipv6';
}

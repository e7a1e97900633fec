import { expect } from 'chai';
import ipaddr from 'ipaddr.js';
import { isSpecialAddress } from '../../../../shared/core/special-address.js';
import { isPrivateAddress } from '../../../../shared/services/service-source.js';

/** Ranges of addresses that are not public; true if the address before, or after, the range is public. */
const RANGES: [range: string, before: boolean, after: boolean][] = [
  ['0.0.0.0/8', false, true],
  ['10.0.0.0/8', true, true],
  ['100.64.0.0/10', true, true],
  ['127.0.0.0/8', true, true],
  ['169.254.0.0/16', true, true],
  ['172.16.0.0/12', true, true],
  ['192.0.0.0/24', true, true],
  ['192.0.2.0/24', true, true],
  ['192.88.99.0/24', true, true],
  ['192.168.0.0/16', true, true],
  ['198.18.0.0/15', true, true],
  ['198.51.100.0/24', true, true],
  ['203.0.113.0/24', true, true],
  ['224.0.0.0/4', true, false],
  ['240.0.0.0/4', false, false],
  ['::/96', false, true],
  ['::ffff:0:0/96', true, true],
  ['64:ff9b::/96', true, true],
  ['64:ff9b:1::/48', true, true],
  ['100::/64', true, false],
  ['2001::/32', true, false],
  ['2001:db8::/32', true, true],
  ['2002::/16', true, true],
  ['3fff::/20', true, true],
  ['5f00::/16', true, true],
  ['fc00::/7', true, true],
  ['fe80::/10', true, false],
  ['fec0::/10', false, false],
  ['ff00::/8', false, false],
];

function neighbour(address: ipaddr.IPv4 | ipaddr.IPv6, step: 1n | -1n): string | null {
  const bytes = address.toByteArray();
  const size = BigInt(bytes.length * 8);
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n) + step;
  if (value < 0n || value >= 1n << size) return null;
  const moved = bytes.map((_, i) => Number((value >> (size - 8n * BigInt(i + 1))) & 255n));
  return ipaddr.fromByteArray(moved).toString();
}

describe('Addresses that no public server has', () => {
  for (const [range, before, after] of RANGES) {
    it(`are the first and the last of ${range}`, () => {
      const family = range.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4;
      const [first, prefix] = family.parseCIDR(range);
      const free = BigInt(first.toByteArray().length * 8 - prefix);
      const value = first.toByteArray().reduce((sum, byte) => sum * 256n + BigInt(byte), 0n) + (1n << free) - 1n;
      const size = BigInt(first.toByteArray().length);
      const bytes = Array.from({ length: Number(size) }, (_, i) =>
        Number((value >> (8n * (size - 1n - BigInt(i)))) & 255n),
      );
      const last = ipaddr.fromByteArray(bytes);
      expect(isSpecialAddress(first.toString()), first.toString()).to.equal(true);
      expect(isSpecialAddress(last.toString()), last.toString()).to.equal(true);
      const [below, above] = [neighbour(first, -1n), neighbour(last, 1n)];
      if (below !== null) expect(isSpecialAddress(below), `before: ${below}`).to.equal(!before);
      if (above !== null) expect(isSpecialAddress(above), `after: ${above}`).to.equal(!after);
    });
  }

  it('are not those of public servers, nor names', () => {
    for (const address of ['1.1.1.1', '8.8.8.8', '185.199.108.153', '2606:4700::1111', '2a00:1450:4001::1']) {
      expect(isSpecialAddress(address), address).to.equal(false);
    }
    for (const name of ['example.com', '', 'fe80', '1.2.3', '0x7f.1']) expect(isSpecialAddress(name)).to.equal(false);
    expect(isPrivateAddress('a.LOCALHOST.')).to.equal(true);
    expect(isPrivateAddress('FE80::1')).to.equal(true);
    expect(isPrivateAddress('fe80::1%eth0')).to.equal(true);
  });
});

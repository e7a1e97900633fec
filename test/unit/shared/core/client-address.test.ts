import { expect } from 'chai';
import fc from 'fast-check';
import { clientKey, isLoopback } from '../../../../shared/core/client-address.js';

describe('The key of a client address', () => {
  const cases: [address: string, key: string, why: string][] = [
    ['203.0.113.9', '203.0.113.9', 'IPv4 as it is'],
    ['::ffff:203.0.113.9', '203.0.113.9', 'IPv4 on a socket for both'],
    ['::FFFF:cb00:7109', '203.0.113.9', 'the same in hexadecimal'],
    ['64:ff9b::203.0.113.9', '203.0.113.9', 'IPv4 behind a translator'],
    ['2002:cb00:7109:1::5', '203.0.113.9', '6to4, whose owner has 65536 networks'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', 'IPv6 by its network'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64', 'another address of it'],
    ['fe80::1%eth0', 'fe80::/64', 'a zone does not matter'],
    ['203.0.113.9:51234', '203.0.113.9', 'some proxies add the port'],
    ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64', 'in brackets then'],
    ['::1', '::1', 'loopback'],
    ['unknown', 'unknown', 'what a proxy writes for no address'],
    ['', 'unknown', 'nothing'],
    ['1', 'unknown', 'a number is no address'],
    ['0x7f.1', 'unknown', 'nor is this'],
    ['203.0.113.9, 198.51.100.1', 'unknown', 'nor are two'],
  ];
  for (const [address, key, why] of cases) {
    it(`${why}: ${address || '(empty)'}`, () => expect(clientKey(address)).to.equal(key));
  }

  it('is the same for every address of one /64, and another one for its neighbour', () => {
    const part = fc.integer({ min: 0, max: 0xffff }).map((number) => number.toString(16));
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 4, maxLength: 4 }),
        fc.array(part, { minLength: 4, maxLength: 4 }),
        (a, b) => {
          const key = clientKey(`2001:db8:5:6:${a.join(':')}`);
          expect(clientKey(`2001:db8:5:6:${b.join(':')}`)).to.equal(key);
          expect(clientKey(`2001:db8:5:7:${a.join(':')}`)).to.not.equal(key);
        },
      ),
    );
  });

  it('is one for all text that is no address, however long', () => {
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => clientKey(`x${text}`) === 'unknown'));
    expect(clientKey('1'.repeat(100_000))).to.equal('unknown');
  });

  it('tells loopback', () => {
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
      expect(isLoopback(address)).to.equal(true);
    for (const address of ['128.0.0.1', '10.0.0.1', '::', '1127.0.0.1']) expect(isLoopback(address)).to.equal(false);
  });
});

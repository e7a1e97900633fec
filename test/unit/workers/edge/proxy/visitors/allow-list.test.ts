import { expect } from 'chai';
import { compileAllowList, isAllowed } from '../../../../../../workers/edge/proxy/visitors/allow-list.js';

describe('The list of addresses that a service admits', () => {
  it('matches addresses and ranges of both families', () => {
    const list = compileAllowList(['10.1.2.3/8', '192.0.2.7', '2001:db8::/32']);
    for (const address of ['10.255.0.1', '192.0.2.7', '2001:db8::1']) expect(isAllowed(list, address)).to.equal(true);
    for (const address of ['11.0.0.1', '192.0.2.8', '2001:db9::1', '', 'x']) {
      expect(isAllowed(list, address), address).to.equal(false);
    }
    expect(isAllowed(compileAllowList(['0.0.0.0/0']), '203.0.113.9')).to.equal(true);
  });

  it('matches a link-local address whatever its zone', () => {
    expect(isAllowed(compileAllowList(['fe80::/10']), 'fe80::1%eth0')).to.equal(true);
  });

  it('admits everybody if it is empty, and nobody if no entry is a range', () => {
    expect(isAllowed(compileAllowList([]), 'anything')).to.equal(true);
    for (const entry of ['nonsense', '10.0.0.0/33', '2001:db8::/129', '10.0.0.0/x', '10.0.0.0/-1']) {
      expect(isAllowed(compileAllowList([entry]), '10.0.0.1'), entry).to.equal(false);
    }
  });
});

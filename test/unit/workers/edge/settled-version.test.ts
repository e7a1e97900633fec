import { expect } from 'chai';
import { SettledVersion } from '../../../../workers/edge/settled-version.js';

describe('The settled version of routes', () => {
  it('is one that the edge knew a minute ago, so that a version that is committed late is still read', () => {
    const settled = new SettledVersion(40, 100, 0);
    expect(settled.at(120, 59_999)).to.equal(40);
    expect(settled.at(130, 60_000)).to.equal(100);
    expect(settled.at(190, 119_000)).to.equal(100);
    expect(settled.at(200, 125_000)).to.equal(130);
  });

  it('stays where it is while nothing changes', () => {
    const settled = new SettledVersion(40, 100, 0);
    for (const minute of [1, 2, 3]) expect(settled.at(100, minute * 60_000)).to.equal(100);
  });
});

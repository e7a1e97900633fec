import { expect } from 'chai';
import { SettledVersion } from '../../../../workers/edge/settled-version.js';

describe('The settled version of routes', () => {
  it('is one that the edge knew a minute ago, so that a version that is committed late is still read', () => {
    const settled = new SettledVersion(10_100, 0);
    expect(settled.at(10_120, 59_999)).to.equal(5_120);
    expect(settled.at(10_130, 60_000)).to.equal(10_100);
    expect(settled.at(10_190, 119_000)).to.equal(10_100);
    expect(settled.at(10_200, 125_000)).to.equal(10_130);
  });

  it('is at most 5,000 below the newest one, also after very many changes at once', () => {
    expect(new SettledVersion(0, 0).at(100_000, 1_000)).to.equal(95_000);
  });

  it('stays where it is while nothing changes', () => {
    const settled = new SettledVersion(100, 0);
    for (const minute of [1, 2, 3]) expect(settled.at(100, minute * 60_000)).to.equal(100);
  });
});

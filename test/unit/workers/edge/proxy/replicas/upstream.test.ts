import { expect } from 'chai';
import { choose, Upstream } from '../../../../../../workers/edge/proxy/replicas/upstream.js';

describe('The choice of a replica', () => {
  const made: Upstream[] = [];
  function replica(requests: number): Upstream {
    const upstream = new Upstream({ id: 'r', address: '127.0.0.1', port: 1 }, { connectMs: 1, headersMs: 1 });
    for (let i = 0; i < requests; i++) upstream.requests.add();
    made.push(upstream);
    return upstream;
  }
  after(() => {
    for (const upstream of made) upstream.close();
  });
  const none: Upstream[] = [];

  it('is the one with the fewest requests under way', () => {
    const [busy, idle] = [replica(2), replica(1)];
    for (let i = 0; i < 20; i++) expect(choose([busy, idle], none)).to.equal(idle);
  });

  it('is one that refused a moment ago only if there is no other', () => {
    const [busy, refused] = [replica(5), replica(0)];
    refused.avoid();
    expect(choose([busy, refused], none)).to.equal(busy);
    expect(choose([refused], none)).to.equal(refused);
  });

  it('is never an excluded one, and none if there is no other', () => {
    const [one, other] = [replica(0), replica(9)];
    expect(choose([one, other], [one])).to.equal(other);
    expect(choose([one], [one])).to.equal(null);
    expect(choose([], none)).to.equal(null);
  });

  it('spreads requests over replicas that are equally busy', () => {
    const [one, other] = [replica(0), replica(0)];
    const chosen = new Set(Array.from({ length: 200 }, () => choose([one, other], none)));
    expect(chosen.size).to.equal(2);
  });
});

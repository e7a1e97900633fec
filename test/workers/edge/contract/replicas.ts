import { expect } from 'chai';
import { eventually } from '../../../support/processes.js';
import { ask, Bench, type EdgeKind, proxied, tableWith } from '../support.js';

/** Tests a service with several replicas, some of them dead. */
export function severalReplicas(kind: EdgeKind): void {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench(kind);
  });
  afterEach(() => bench.close());

  it('spreads requests over the replicas', async () => {
    const held: (() => void)[] = [];
    const counts = [0, 0];
    const replicas = await Promise.all(
      [0, 1].map((i) =>
        bench.replica((_req, res) => {
          counts[i] = (counts[i] ?? 0) + 1;
          held.push(() => res.end());
        }),
      ),
    );
    const edge = await bench.edge();
    await edge.apply(proxied(replicas));
    const answers = Array.from({ length: 10 }, () => ask(edge.port, '/'));
    await eventually('all requests are under way', () => held.length === 10);
    for (const release of held) release();
    await Promise.all(answers);
    expect(counts).to.deep.equal([5, 5]);
  });

  it('tries another replica if one refuses the connection, also for a POST with a body', async () => {
    const dead = await bench.deadReplica();
    const replica = await bench.replica((req, res) => req.pipe(res));
    const edge = await bench.edge();
    for (let i = 0; i < 6; i++) {
      // A new route table has new upstreams, so the dead replica is tried again.
      await edge.apply(proxied([{ ...dead, id: `dead-${i}` }, replica]));
      for (let k = 0; k < 4; k++) {
        const answer = await ask(edge.port, '/', { method: 'POST', body: 'once' });
        expect(answer).to.include({ status: 200, text: 'once' });
      }
    }
  });

  it('does not send a POST again that a replica may have seen', async () => {
    let asked = 0;
    const replicas = await Promise.all(
      [0, 1, 2].map(() =>
        bench.replica((req) => {
          asked += 1;
          req.socket.destroy();
        }),
      ),
    );
    const edge = await bench.edge();
    await edge.apply(proxied(replicas));
    for (const body of [undefined, 'body']) {
      asked = 0;
      const answer = await ask(edge.port, '/', { method: 'POST', ...(body === undefined ? {} : { body }) });
      expect(answer.status).to.equal(502);
      expect(asked).to.equal(1);
    }
  });

  it('answers 503 with Retry-After if there is no replica or no release, or if the service is suspended', async () => {
    const edge = await bench.edge();
    for (const reason of ['no_ready_replica', 'not_deployed', 'suspended'] as const) {
      await edge.apply(tableWith({ target: { type: 'unavailable', reason } }));
      const answer = await ask(edge.port, '/');
      expect(answer.status).to.equal(503);
      expect(Number(answer.headers['retry-after'])).to.be.at.least(1);
    }
  });

  it('repeats a GET on another replica, and not for ever', async () => {
    let asked = 0;
    const resetting = await bench.replica((req) => {
      asked += 1;
      req.socket.destroy();
    });
    const edge = await bench.edge();
    await edge.apply(proxied([resetting]));
    expect((await ask(edge.port, '/')).status).to.equal(502);
    expect(asked).to.be.within(2, 3);

    const replica = await bench.replica((_req, res) => res.end('fine'));
    await edge.apply(proxied([resetting, replica]));
    for (let i = 0; i < 10; i++) expect((await ask(edge.port, '/')).text).to.equal('fine');
  });

  it('answers 502, as a page for browsers, when all replicas refuse', async () => {
    const edge = await bench.edge();
    await edge.apply(proxied([await bench.deadReplica()]));
    const answer = await ask(edge.port, '/', { headers: { accept: 'text/html,*/*' } });
    expect(answer.status).to.equal(502);
    expect(answer.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(answer.text).to.include(String(answer.headers['x-request-id']));
  });
}

import { expect } from 'chai';
import { LATENCY_BOUNDS } from '../../../../shared/metrics/model.js';
import { TrafficMeter } from '../../../../workers/edge/traffic-meter.js';

describe('The traffic meter of an edge', () => {
  it('counts answers by class and latency, and begins anew after they are taken', () => {
    const meter = new TrafficMeter();
    meter.of('b');
    const traffic = meter.of('a');
    traffic.count(200, 100, 4);
    traffic.count(304, 10, 0.2);
    traffic.count(404, 20, 60_000);
    traffic.count(503, 30, null);
    traffic.count(101, 1000, 1);
    const [taken, ...others] = meter.take();
    expect(others).to.deep.equal([]);
    expect(taken).to.include({ serviceId: 'a', bytesOut: 160 });
    expect(taken?.classes).to.deep.equal([1, 1, 1, 1]);
    expect(taken?.latency.flatMap((count, index) => (count > 0 ? [index] : []))).to.deep.equal([
      0,
      3,
      LATENCY_BOUNDS.length,
    ]);
    expect(meter.take()).to.deep.equal([]);
  });

  it('keeps what could not be stored', () => {
    const meter = new TrafficMeter();
    meter.of('a').count(200, 100, 4);
    const taken = meter.take();
    meter.of('a').count(200, 50, 4);
    meter.putBack(taken);
    expect(meter.take()).to.deep.include({
      serviceId: 'a',
      classes: [2, 0, 0, 0],
      bytesOut: 150,
      latency: LATENCY_BOUNDS.map((_, index) => (index === 3 ? 2 : 0)).concat(0),
    });
  });

  it('forgets a service without a route after its last answers are taken', () => {
    const meter = new TrafficMeter();
    const gone = meter.of('a');
    const kept = meter.of('b');
    kept.routes = 1;
    gone.count(200, 1, 1);
    expect(meter.take()).to.have.length(1);
    meter.take();
    expect(meter.of('a')).not.to.equal(gone);
    expect(meter.of('b')).to.equal(kept);
  });
});

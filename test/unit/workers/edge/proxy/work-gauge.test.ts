import { expect } from 'chai';
import { Gauge } from '../../../../../workers/edge/proxy/work-gauge.js';

describe('A gauge', () => {
  it('counts what has entered and not left, each once', () => {
    const gauge = new Gauge();
    const [first, second] = [gauge.enter(), gauge.enter()];
    expect(gauge.value).to.equal(2);
    first();
    first();
    expect(gauge.value).to.equal(1);
    second();
    expect(gauge.value).to.equal(0);
  });

  it('is waited for until it is empty', async () => {
    const gauge = new Gauge();
    await gauge.empty(0);
    const [first, second] = [gauge.enter(), gauge.enter()];
    let empty = false;
    const waiting = gauge.empty(60_000).then(() => {
      empty = true;
    });
    first();
    await Promise.resolve();
    expect(empty).to.equal(false);
    second();
    await waiting;
  });

  it('is waited for no longer than the given time', async () => {
    const gauge = new Gauge();
    gauge.enter();
    await gauge.empty(1);
    expect(gauge.value).to.equal(1);
  });
});

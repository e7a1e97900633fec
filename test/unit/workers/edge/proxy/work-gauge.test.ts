import { expect } from 'chai';
import { Gauge } from '../../../../../workers/edge/proxy/work-gauge.js';

describe('A gauge', () => {
  it('is waited for until it is empty', async () => {
    const gauge = new Gauge();
    await gauge.empty(0);
    gauge.add();
    gauge.add();
    expect(gauge.value).to.equal(2);
    let empty = false;
    const waiting = gauge.empty(60_000).then(() => {
      empty = true;
    });
    gauge.remove();
    await Promise.resolve();
    expect(empty).to.equal(false);
    gauge.remove();
    await waiting;
    expect(gauge.value).to.equal(0);
  });

  it('is waited for no longer than the given time', async () => {
    const gauge = new Gauge();
    gauge.add();
    await gauge.empty(1);
    expect(gauge.value).to.equal(1);
  });
});

import { expect } from 'chai';
import { createLogger } from '../../../../shared/core/log.js';
import { Lifecycle } from '../../../../shared/core/process-lifecycle.js';

describe('The end of a process', () => {
  it('closes the rest in order if a closer never ends', async () => {
    const closed: string[] = [];
    const codes: number[] = [];
    const lifecycle = new Lifecycle(createLogger('test', 'silent'), (code) => codes.push(code), 10_000);
    lifecycle.onEnd('database', () => closed.push('database'));
    lifecycle.onEnd('replicas', () => closed.push('replicas'));
    lifecycle.onEnd('jobs', () => new Promise(() => undefined), 10);
    await lifecycle.end('SIGINT', 0);
    expect(closed).to.deep.equal(['replicas', 'database']);
    expect(codes).to.deep.equal([0]);
  });
});

import { expect } from 'chai';
import { Turns } from '../../../../api/http/workspace-turns.js';
import { AppError } from '../../../../shared/core/error-registry.js';

describe('Turns of requests', () => {
  const tick = () => new Promise((resolve) => setImmediate(resolve));

  it('lets few of one workspace run, and refuses those for whom no place to wait is left', async () => {
    const turns = new Turns({ each: 2, all: 10, waiting: 3 });
    const ends: (() => void)[] = [];
    let refused = 0;
    for (let i = 0; i < 10; i++) {
      void turns.take('a').then(
        (end) => ends.push(end),
        (error: unknown) => {
          expect(error).to.be.instanceOf(AppError).and.to.include({ code: 'rate_limited', status: 429 });
          refused += 1;
        },
      );
    }
    await tick();
    expect([ends.length, refused]).to.deep.equal([2, 5]);
    while (ends.length > 0) {
      ends.shift()?.();
      await tick();
    }
    (await turns.take('a'))();
  });

  it('gives a workspace that comes later its turn before those of another that wait', async () => {
    const turns = new Turns({ each: 2, all: 2, waiting: 100 });
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const ask = (key: string) =>
      void turns.take(key).then((end) => {
        order.push(key);
        ends.push(end);
      });
    for (let i = 0; i < 20; i++) ask('many');
    ask('few');
    await tick();
    for (let i = 0; i < 25; i++) {
      ends.shift()?.();
      await tick();
    }
    expect(order).to.have.length(21);
    expect(order.indexOf('few')).to.be.below(4);
  });

  it('lets no more of all workspaces run than there are places', async () => {
    const turns = new Turns({ each: 2, all: 3, waiting: 100 });
    const ends: (() => void)[] = [];
    for (const key of ['a', 'b', 'c', 'd', 'e']) void turns.take(key).then((end) => ends.push(end));
    await tick();
    expect(ends).to.have.length(3);
    ends[0]?.();
    await tick();
    expect(ends).to.have.length(4);
  });
});

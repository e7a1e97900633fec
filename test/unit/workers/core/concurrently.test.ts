import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { concurrently } from '../../../../workers/core/concurrently.js';

describe('Work on several items at once', () => {
  it('begins in order, with no more at once than allowed, and a slow item holds up no other', async () => {
    const began: number[] = [];
    const ended: number[] = [];
    let release: () => void = () => undefined;
    const work = concurrently([1, 2, 3, 4, 5], 2, async (item) => {
      began.push(item);
      expect(began.length - ended.length).to.be.at.most(2);
      await (item === 1 ? new Promise<void>((resolve) => (release = resolve)) : turn());
      ended.push(item);
    });
    while (ended.length < 4) await turn();
    expect(ended).to.deep.equal([2, 3, 4, 5]);
    release();
    await work;
    expect([began, ended]).to.deep.equal([
      [1, 2, 3, 4, 5],
      [2, 3, 4, 5, 1],
    ]);
  });

  it('rejects with the first error and begins nothing after it', async () => {
    const began: number[] = [];
    const work = concurrently([1, 2, 3], 1, async (item) => {
      began.push(item);
      throw new Error(`item ${item}`);
    });
    expect(await work.catch((error: Error) => error.message)).to.equal('item 1');
    expect(began).to.deep.equal([1]);
  });

  it('does nothing without items', async () => {
    const refuse = () => Promise.reject(new Error('called'));
    expect(await concurrently([], 8, refuse).catch(({ message }: Error) => message)).to.equal(undefined);
  });
});

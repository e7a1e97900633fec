import { expect } from 'chai';
import { onAbort } from '../../../../shared/core/on-abort.js';

describe('A listener for an abort', () => {
  it('is called once, also if the signal was aborted before', () => {
    for (const before of [true, false]) {
      const controller = new AbortController();
      let calls = 0;
      if (before) controller.abort();
      onAbort(controller.signal, () => {
        calls += 1;
      });
      controller.abort();
      expect(calls).to.equal(1);
    }
  });

  it('is not called after it was taken away', () => {
    const controller = new AbortController();
    const forget = onAbort(controller.signal, () => expect.fail('it was called'));
    forget();
    controller.abort();
  });
});

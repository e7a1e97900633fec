import { expect } from 'chai';
import { JoinedRuns } from '../../../../workers/sources/joined-runs.js';

const never = new AbortController().signal;

function stage() {
  let begin = () => {};
  let end = (_: number) => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const ended = new Promise<number>((resolve) => {
    end = resolve;
  });
  const seen: AbortSignal[] = [];
  const work = async (signal: AbortSignal, begins: () => void) => {
    seen.push(signal);
    await begun;
    begins();
    return ended;
  };
  return { begin, end, work, seen };
}

describe('Runs that callers share', () => {
  it('run once for all who ask before they begin', async () => {
    const runs = new JoinedRuns<number>();
    const { begin, end, work, seen } = stage();
    const results = [1, 2, 3].map(() => runs.join('a', never, work));
    const other = runs.join('b', never, async () => 9);
    begin();
    end(7);
    expect(await Promise.all(results)).to.deep.equal([7, 7, 7]);
    expect(await other).to.equal(9);
    expect(seen.length).to.equal(1);
  });

  it('are not joined once they have begun', async () => {
    const runs = new JoinedRuns<number>();
    const first = stage();
    const one = runs.join('a', never, first.work);
    first.begin();
    await new Promise((resolve) => setImmediate(resolve));
    const two = runs.join('a', never, async () => 2);
    first.end(1);
    expect(await Promise.all([one, two])).to.deep.equal([1, 2]);
  });

  it('go on if one of two callers is aborted, and end if both are', async () => {
    const runs = new JoinedRuns<number>();
    const { begin, end, work, seen } = stage();
    const [a, b] = [new AbortController(), new AbortController()];
    const reason = new Error('cancelled');
    const one = runs.join('a', a.signal, work).catch((error: unknown) => error);
    const two = runs.join('a', b.signal, work);
    await new Promise((resolve) => setImmediate(resolve));
    a.abort(reason);
    expect(await one).to.equal(reason);
    expect(seen[0]?.aborted).to.equal(false);
    begin();
    end(5);
    expect(await two).to.equal(5);
    const alone = stage();
    const three = runs.join('a', a.signal, alone.work).catch((error: unknown) => error);
    expect(await three).to.equal(reason);
  });

  it('that fail reject for every caller', async () => {
    const runs = new JoinedRuns<number>();
    const fail = async () => Promise.reject(new Error('no'));
    const results = await Promise.allSettled([runs.join('a', never, fail), runs.join('a', never, fail)]);
    expect(results.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
  });
});

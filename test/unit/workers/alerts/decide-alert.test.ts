import { expect } from 'chai';
import fc from 'fast-check';
import { type AlertRule, isBeyond, thresholdProblem } from '../../../../shared/alerts/model.js';
import { type AlertState, decideAlert, INITIAL } from '../../../../workers/alerts/decide-alert.js';

const START = Date.UTC(2026, 10, 27, 12);
const RULE: AlertRule = { metric: 'errors', above: 5, forMinutes: 3 };
const at = (minute: number) => new Date(START + minute * 60_000);

/**
 * Feeds one value a minute, in rounds of `size` minutes. Returns the messages with their minutes, and the last state.
 */
function run(values: readonly (number | null)[], { rule = RULE, size = 1, from = INITIAL, first = 0 } = {}) {
  const samples = values.map((value, index) => ({ at: at(first + index), value }));
  const messages: string[] = [];
  let state: AlertState = from;
  for (let index = 0; index < samples.length; index += size) {
    const decided = decideAlert(rule, state, samples.slice(index, index + size));
    state = decided.state;
    if (decided.message) messages.push(`${decided.message} ${first + index + size - 1}`);
  }
  return { messages, state };
}
const minutes = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe('The decision about an alert', () => {
  it('fires when the value was above for as long as the rule says, and not before', () => {
    expect(run([9, 9]).state).to.include({ status: 'pending', run: 2 });
    const { messages, state } = run([0, 9, 9, 9, 9]);
    expect(messages).to.deep.equal(['firing 3']);
    expect(state).to.deep.include({ status: 'firing', value: 9, since: at(1) });
    expect(run([9, 9, 5, 9, 9]).messages, 'the threshold itself is not above').to.deep.equal([]);
  });

  it('ends with one message after five minutes that are not above, and not by fewer', () => {
    expect(run([9, 9, 9, 0, 0, 0, 0, 9, 0, 0, 0, 0]).messages).to.deep.equal(['firing 2']);
    const { messages, state } = run([9, 9, 9, ...minutes(20, 0)]);
    expect(messages).to.deep.equal(['firing 2', 'resolved 7']);
    expect(state).to.deep.include({ status: 'ok', value: 0, since: at(7) });
  });

  it('takes no data for neither', () => {
    expect(run([9, 9, null, null, null]).messages, 'not above').to.deep.equal([]);
    expect(run([9, 9, null, null, 9]).messages, 'and no end of a run').to.deep.equal(['firing 4']);
    const silent = run([9, 9, 9, ...minutes(600, null)]);
    expect(silent.messages, 'not resolved').to.deep.equal(['firing 2']);
    expect(silent.state).to.include({ status: 'firing', value: 9 });
    expect(run([9, 9, 9, 0, 0, ...minutes(30, null), 0, 0, 0]).messages).to.deep.equal(['firing 2', 'resolved 37']);
  });

  it('forgets a run of which nothing was heard for an hour', () => {
    const { state } = run([9, 9, ...minutes(62, null)]);
    expect(state).to.include({ status: 'unknown', value: null, run: 0 });
    expect(run([9, 9, ...minutes(62, null), 9, 9]).messages).to.deep.equal([]);
    // The evaluator was away, so there was no round in between.
    const pending = run([9, 9]).state;
    expect(run([9], { from: pending, first: 200 }).state).to.include({ status: 'pending', run: 1 });
  });

  it('sends one message about a value that comes and goes', () => {
    const quick = Array.from({ length: 1440 }, (_, minute) => (minute % 6 < 4 ? 9 : 0));
    expect(run(quick).messages).to.deep.equal(['firing 2']);
    // Ten minutes above, ten below: after each end, the quiet time must be longer.
    const slow = Array.from({ length: 1440 }, (_, minute) => (minute % 20 < 10 ? 9 : 0));
    expect(run(slow).messages).to.have.length.below(6);
  });

  it('decides the same if its rounds are missed and made up for, and tells the newest', () => {
    const values = [0, 9, 9, 9, 9, ...minutes(9, 0)];
    expect(run(values, { size: 7 }).state).to.deep.equal(run(values).state);
    expect(run(values, { size: 7 }).messages).to.deep.equal(['firing 6', 'resolved 13']);
    expect(run(values, { size: 14 }).messages).to.deep.equal(['resolved 13']);
  });

  it('never sends a message twice in a row, and says what the state is', () => {
    const value = fc.option(fc.integer({ min: 0, max: 10 }));
    fc.assert(
      fc.property(fc.array(value, { maxLength: 300 }), fc.integer({ min: 1, max: 9 }), (values, size) => {
        const { messages, state } = run(values, { size });
        const names = messages.map((message) => message.split(' ')[0]);
        if (size === 1) {
          for (const [index, name] of names.entries()) expect(name).to.equal(index % 2 === 0 ? 'firing' : 'resolved');
        }
        if (names.length > 0) expect(names.at(-1) === 'firing').to.equal(state.status === 'firing');
      }),
    );
  });

  it('counts restarts within the time of the rule, so one count is enough', () => {
    const rule: AlertRule = { metric: 'restarts', above: 3, forMinutes: 10 };
    expect(run([0, 2, 4], { rule }).messages).to.deep.equal(['firing 2']);
  });

  it('fires for a certificate with fewer days than the threshold', () => {
    const rule: AlertRule = { metric: 'certificate', above: 14, forMinutes: 1 };
    expect(run([30, 14], { rule }).messages).to.deep.equal([]);
    expect(run([30, 13.9], { rule }).messages).to.deep.equal(['firing 1']);
  });

  it('refuses thresholds outside of the range of the metric', () => {
    expect(thresholdProblem({ metric: 'errors', above: 101 })).to.equal('must be from 0 to 100 for errors');
    expect(thresholdProblem({ metric: 'certificate', above: 0 })).to.equal('must be from 1 to 365 for certificate');
    expect(thresholdProblem({ metric: 'latency_p99', above: 30_000 })).to.equal(null);
    expect(isBeyond({ metric: 'cpu', above: 80 }, 80)).to.equal(false);
  });
});

import { expect } from 'chai';
import { decideSleep, type SleepFacts, sleepMessage } from '../../../../workers/sleep/decide-sleep.js';

const TIMES = { quiet: 900, frozen: 3600 };
const AWAKE: SleepFacts = {
  frozen: false,
  maySleep: true,
  busy: false,
  quietSeconds: 900,
  allReady: true,
  asleepSeconds: 0,
  visited: false,
};
const FROZEN: SleepFacts = { ...AWAKE, frozen: true, allReady: false, quietSeconds: 4500, asleepSeconds: 3600 };
const decide = (facts: Partial<SleepFacts>, times = TIMES) => decideSleep({ ...AWAKE, ...facts }, times);
const decideFrozen = (facts: Partial<SleepFacts>) => decideSleep({ ...FROZEN, ...facts }, TIMES);

describe('What happens to a service that may sleep', () => {
  it('is nothing while it had a visitor recently, starts, changes, or may not sleep', () => {
    expect(decide({ quietSeconds: 899 })).to.equal(null);
    expect(decide({ quietSeconds: null })).to.equal(null);
    expect(decide({ busy: true })).to.equal(null);
    expect(decide({ maySleep: false })).to.equal(null);
  });

  it('is that its replicas are frozen, or end if they cannot be or do not answer', () => {
    expect(decide({})).to.equal('freeze');
    expect(decide({}, { ...TIMES, frozen: 0 })).to.equal('end');
    expect(decide({ allReady: false })).to.equal('end');
  });

  it('is that frozen replicas end after the further time, unless something else changes them', () => {
    expect(decideFrozen({ asleepSeconds: 3599 })).to.equal(null);
    expect(decideFrozen({})).to.equal('end');
    expect(decideFrozen({ busy: true })).to.equal(null);
  });

  it('is that frozen replicas run again after a visitor whom no edge held, and if it may sleep no more', () => {
    expect(decideFrozen({ visited: true })).to.equal('thaw');
    expect(decideFrozen({ visited: true, busy: true })).to.equal('thaw');
    expect(decideFrozen({ maySleep: false })).to.equal('thaw');
  });

  it('stands in its log', () => {
    expect(sleepMessage('freeze', AWAKE, TIMES)).to.equal(
      'Falls asleep after 900 s without a visitor: frozen for 3600 s, then ended; the next request wakes it',
    );
    expect(sleepMessage('end', AWAKE, TIMES)).to.equal(
      'Falls asleep after 900 s without a visitor; the next request wakes it',
    );
    expect(sleepMessage('end', FROZEN, TIMES)).to.equal(
      'Ends after it was frozen for 3600 s; the next request starts it again',
    );
    expect(sleepMessage('thaw', FROZEN, TIMES)).to.contain('Runs again');
  });
});

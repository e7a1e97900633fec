import { expect } from 'chai';
import { type AttemptOutcome, decideRun, retryDelayMs } from '../../../../shared/runs/model.js';

const decide = (outcome: AttemptOutcome, attempt = 1, maxRetries = 2) =>
  decideRun(outcome, { attempt, maxRetries, timeoutSeconds: 30 }, 5_000);

describe('What follows from an attempt of a run', () => {
  const failed: AttemptOutcome = { type: 'exited', exitCode: 3, detail: 'exited with code 3' };

  it('is success with code 0 only', () => {
    expect(decide({ type: 'exited', exitCode: 0, detail: 'exited with code 0' })).to.include({
      type: 'end',
      status: 'succeeded',
      exitCode: 0,
      error: '',
    });
    expect(decide({ type: 'exited', exitCode: null, detail: 'was ended by SIGKILL' }, 3)).to.include({
      status: 'failed',
      exitCode: null,
    });
  });

  it('is another attempt after a wait that doubles, maxRetries times', () => {
    expect(decide(failed, 1)).to.deep.equal({
      type: 'retry',
      delayMs: 5_000,
      exitCode: 3,
      error: 'exited with code 3',
    });
    expect(decide(failed, 2)).to.include({ type: 'retry', delayMs: 10_000 });
    expect(decide(failed, 3)).to.deep.equal({
      type: 'end',
      status: 'failed',
      exitCode: 3,
      error: 'exited with code 3',
    });
    expect(decide(failed, 1, 0)).to.include({ type: 'end', status: 'failed' });
    expect(retryDelayMs(5_000, 100)).to.equal(3_600_000);
  });

  it('is the end if the command ran into its time limit', () => {
    expect(decide({ type: 'timeout' })).to.deep.equal({
      type: 'end',
      status: 'failed',
      exitCode: null,
      error: 'did not end within 30 s, its timeoutSeconds, and was ended',
    });
  });
});

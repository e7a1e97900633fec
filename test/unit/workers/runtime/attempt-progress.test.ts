import { expect } from 'chai';
import { attemptProgress } from '../../../../workers/runtime/attempt-progress.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const limits = { now: NOW, startMs: 60_000, timeoutMs: 30_000 };
const ago = (seconds: number) => new Date(NOW - seconds * 1000);
const row = { state: 'starting', started_at: ago(10), created_at: ago(12), exit_code: null, exit_detail: '' } as const;

describe('How the attempt of a run stands', () => {
  it('is pending until its limit', () => {
    expect(attemptProgress(row, limits)).to.deep.equal({ type: 'pending', nextMs: 20_000 });
    expect(attemptProgress({ ...row, started_at: ago(30) }, limits)).to.deep.equal({ type: 'timeout' });
  });

  it('waits a while for its start, and says what kept it', () => {
    const waiting = { ...row, state: 'pending', started_at: null } as const;
    expect(attemptProgress(waiting, limits)).to.deep.equal({ type: 'pending', nextMs: 48_000 });
    expect(attemptProgress({ ...waiting, created_at: ago(60) }, limits)).to.deep.equal({
      type: 'notStarted',
      detail: 'was not started within 60 s: is a worker running on the host?',
    });
  });

  it('is over when the command has exited, or somebody else stopped it', () => {
    const exited = { ...row, state: 'exited', exit_code: 2, exit_detail: 'exited with code 2' } as const;
    expect(attemptProgress(exited, limits)).to.deep.equal({
      type: 'exited',
      exitCode: 2,
      detail: 'exited with code 2',
    });
    expect(attemptProgress({ ...row, state: 'stopped' }, limits)).to.include({ type: 'exited', exitCode: null });
    expect(attemptProgress(null, limits)).to.include({ type: 'exited', exitCode: null });
  });
});

import { expect } from 'chai';
import { causeOfEnd, reasonOfEnd } from '../../../../api/remote/ends.js';

const MINUTE = 60_000;

describe('The end of a shell', () => {
  const shell = { kind: 'shell', activeAt: 1_000 } as const;

  it('comes after fifteen minutes without a byte, and not before', () => {
    expect(causeOfEnd(shell, 1_000 + 15 * MINUTE - 1, undefined)).to.equal(null);
    expect(causeOfEnd(shell, 1_000 + 15 * MINUTE, undefined)).to.include({ code: 4408 });
    // A tunnel to a database may be idle for hours.
    expect(causeOfEnd({ ...shell, kind: 'tunnel' }, 1_000 + 600 * MINUTE, undefined)).to.equal(null);
  });

  it('comes at once when its access is lost, and says why', () => {
    expect(causeOfEnd(shell, 1_000, 'the key was revoked')).to.deep.equal({
      code: 4401,
      reason: 'the key was revoked',
    });
    expect(causeOfEnd({ ...shell, kind: 'tunnel' }, 1_000, 'role')).to.deep.equal({ code: 4401, reason: 'role' });
  });

  it('is told by who went first', () => {
    expect(reasonOfEnd(null, null)).to.equal('the client left');
    expect(reasonOfEnd(0, { code: 1000, reason: '' })).to.equal('the command ended');
    expect(reasonOfEnd(137, { code: 4404, reason: 'the replica has ended' })).to.equal('the replica has ended');
    expect(reasonOfEnd(null, { code: 1006, reason: '' })).to.equal('the worker went away');
    expect(reasonOfEnd(null, { code: 1000, reason: '' })).to.equal('the connection was closed');
  });
});

import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../../../../shared/services/configuration.js';
import { failure } from '../../../../../workers/builders/steps/build-commands.js';

describe('Why a command of a build failed', () => {
  const request = { configuration: { ...DEFAULT_CONFIGURATION, plan: 'free' as const } };

  it('is the size of a file that the plan does not allow, however the command ended by it', () => {
    const expected = /^wrote a file of more than \d+ MB, the storage of the plan free\. Write less, or choose a plan/;
    expect(failure({ reason: 'signalled', signal: 'SIGXFSZ' }, request, 'File size limit exceeded')).to.match(expected);
    // A shell in between turns the signal into an exit code.
    expect(failure({ reason: 'exited', exitCode: 153 }, request, '')).to.match(expected);
  });

  it('is the exit code or the signal, with what the command printed', () => {
    expect(failure({ reason: 'exited', exitCode: 1 }, request, 'Error: x')).to.equal('exited with code 1: Error: x');
    expect(failure({ reason: 'signalled', signal: 'SIGSEGV' }, request, '')).to.equal('was ended by SIGSEGV');
  });
});

import { expect } from 'chai';
import { commandMessage, exitDetail, exitMessage } from '../../../../workers/runtime/failure-text.js';

describe('The text of a failure', () => {
  it('quotes the message of an error, not its stack', () => {
    const stack = [
      '    at Object.<anonymous> (/mnt/app/s.js:1:7)',
      '    at Module._load (node:internal/modules/cjs/loader:1091:12)',
    ];
    const printed = [
      'throw new Error("no key")',
      'Error: no key',
      ...stack,
      ...stack,
      ...stack,
      '',
      'Node.js v20.20.2',
    ];
    const message = exitMessage({ position: 1, exit_detail: 'exited with code 1' }, printed, 512);
    expect(message).to.match(/its last output: throw new Error\("no key"\)\nError: no key(?:\.|$)/);
    expect(exitMessage({ position: 1, exit_detail: 'exited with code 1' }, stack, 512)).to.contain('Module._load');
  });

  it('tells how a process ended', () => {
    expect(exitDetail('3', 512)).to.equal('exited with code 3');
    expect(exitDetail('signal SIGSEGV', 512)).to.equal('was ended by SIGSEGV');
    expect(exitDetail('out-of-memory', 512)).to.equal(
      'was killed: it used more than the 512 MB of memory its plan allows',
    );
    expect(exitDetail('', 512)).to.equal('ended without an exit code');
  });

  it('quotes the last output of a replica, unless the start itself failed', () => {
    const replica = { position: 2, exit_detail: 'exited with code 3' };
    expect(exitMessage(replica, ['one', 'two'], 512)).to.equal(
      'replica 2 exited with code 3 before it was healthy; its last output: one\ntwo',
    );
    expect(exitMessage(replica, [], 512)).to.equal(
      'replica 2 exited with code 3 before it was healthy; it printed nothing',
    );
    const unstarted = { position: 1, exit_detail: 'could not be started: its image is not on this host' };
    expect(exitMessage(unstarted, ['old'], 512)).to.equal(
      'replica 1 could not be started: its image is not on this host',
    );
  });

  it('names the command that failed', () => {
    expect(commandMessage('npm run migrate', 'exited with code 1', ['no table'], 512)).to.equal(
      'the command "npm run migrate" exited with code 1; its last output: no table',
    );
    expect(commandMessage('false', 'exited with code 1', [], 512)).to.equal('the command "false" exited with code 1');
  });
});

import { expect } from 'chai';
import { manifestOf } from '../../../../../workers/builders/oci-images/image-manifest.js';
import type { Healthcheck } from '../../../../../workers/builders/oci-images/oci-layout.js';

describe('manifestOf', () => {
  const checkOf = (Healthcheck: Healthcheck | null) =>
    manifestOf(
      { config: { Cmd: ['serve'], Healthcheck } },
      { process: { user: { uid: 0, gid: 0 } } },
      { runtime: 'image', startCommand: '', startArguments: [] },
    ).process?.healthCheck;

  it('reads HEALTHCHECK, with the times of Docker where it names none', () => {
    expect(checkOf({ Test: ['CMD', 'check', '-q'], Interval: 5e9, Timeout: 2e9, Retries: 1 })).to.deep.equal({
      args: ['check', '-q'],
      intervalMs: 5000,
      timeoutMs: 2000,
      retries: 1,
    });
    expect(checkOf({ Test: ['CMD-SHELL', 'check || exit 1'] })).to.deep.equal({
      args: ['/bin/sh', '-c', 'check || exit 1'],
      intervalMs: 30_000,
      timeoutMs: 30_000,
      retries: 3,
    });
    for (const none of [null, {}, { Test: ['NONE'] }, { Test: [] }]) expect(checkOf(none)).to.equal(undefined);
  });

  it('gives the arguments of the configuration to the entry point', () => {
    const config = { Entrypoint: ['serve', '-v'], Cmd: ['--all'] };
    const argsOf = (startArguments: string[]) =>
      manifestOf(
        { config },
        { process: { user: { uid: 0, gid: 0 } } },
        { runtime: 'image', startCommand: '', startArguments },
      ).process?.args;
    expect(argsOf([])).to.deep.equal(['serve', '-v', '--all']);
    expect(argsOf(['--one', 'a b'])).to.deep.equal(['serve', '-v', '--one', 'a b']);
  });
});

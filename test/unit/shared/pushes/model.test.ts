import { expect } from 'chai';
import {
  decideRef,
  MAX_BRANCHES,
  parsePushedAddress,
  pushedAddress,
  readPushOptions,
} from '../../../../shared/pushes/model.js';
import { addressProblem } from '../../../../shared/services/service-source.js';

const A = 'a'.repeat(40);
const NONE = '0'.repeat(40);

describe('What a push does to a ref', () => {
  const decide = (ref: string, to = A, branches: string[] = []) =>
    decideRef({ ref, from: NONE, to }, 'main', new Set(branches));

  it('deploys the branch of the service, and stores others', () => {
    expect(decide('refs/heads/main')).to.deep.equal({ type: 'deploy', branch: 'main' });
    expect(decide('refs/heads/feature/x')).to.deep.equal({ type: 'store', branch: 'feature/x' });
  });

  it('deletes any branch', () => {
    expect(decide('refs/heads/main', NONE)).to.deep.equal({ type: 'delete', branch: 'main' });
  });

  it('refuses what is no branch, strange names, and too many branches', () => {
    for (const ref of ['refs/tags/v1', 'refs/ranvier/x', 'HEAD', 'refs/heads/-x', 'refs/heads/a b', 'refs/heads/ä']) {
      expect(decide(ref).type, ref).to.equal('refuse');
    }
    const full = Array.from({ length: MAX_BRANCHES }, (_, index) => `b${index}`);
    expect(decide('refs/heads/one-more', A, full).type).to.equal('refuse');
    expect(decide('refs/heads/b1', A, full).type).to.equal('store');
    expect(decide('refs/heads/main', A, full).type).to.equal('deploy');
  });

  it('knows one push option', () => {
    expect(readPushOptions([])).to.deep.equal({ noWait: false, unknown: [] });
    expect(readPushOptions(['no-wait', 'x'])).to.deep.equal({ noWait: true, unknown: ['x'] });
  });
});

describe('The address of a pushed repository', () => {
  it('is read back, and can be given to no service', () => {
    const ids = { workspaceId: 'w', serviceId: 's' };
    expect(parsePushedAddress(pushedAddress(ids))).to.deep.equal(ids);
    expect(parsePushedAddress('https://host/w/s')).to.equal(null);
    expect(addressProblem(pushedAddress(ids))).to.match(/not supported/);
  });
});

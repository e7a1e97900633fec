import { expect } from 'chai';
import { changeOf } from '../../../../../../api/resources/session/provider/admit.js';
import { roleOf } from '../../../../../../api/resources/session/provider/person.js';
import { localPath, SignInStates } from '../../../../../../api/resources/session/provider/sign-in-state.js';
import type { SignInWorkspace } from '../../../../../../api/resources/sign-in/settings-store.js';

const WORKSPACE: SignInWorkspace = {
  workspaceId: 'one',
  allowedDomains: ['example.com'],
  role: 'viewer',
  roleClaim: 'groups',
  roles: { ops: 'admin', web: 'developer' },
  passwords: true,
  memberRole: null,
  bySignIn: false,
  admittedBefore: false,
};

describe('The role that a claim gives', () => {
  const role = (groups: unknown, changes: Partial<SignInWorkspace> = {}) =>
    roleOf({ ...WORKSPACE, ...changes }, { claims: { groups } });

  it('is the highest of its values, in a list or alone, and otherwise the usual one', () => {
    expect(role(['web', 'ops'])).to.equal('admin');
    expect(role(['ops', 'web'])).to.equal('admin');
    expect(role('web')).to.equal('developer');
    expect(role(['other'])).to.equal('viewer');
    expect(role('web', { roleClaim: null })).to.equal('viewer');
    expect(role('web', { roleClaim: 'toString' })).to.equal('viewer');
  });

  it('may be lower than the usual one', () => {
    expect(role('web', { role: 'admin', roles: { web: 'viewer' } })).to.equal('viewer');
  });

  it('is not read from values that are no texts, and from no inherited name', () => {
    for (const value of [null, 1, {}, [1, null, ['ops']], 'constructor', ['__proto__'], undefined]) {
      expect(role(value), JSON.stringify(value)).to.equal('viewer');
    }
  });
});

describe('What a sign-in changes in a workspace', () => {
  const change = (
    changes: Partial<SignInWorkspace>,
    groups: string[] = ['web'],
    domain: string | null = 'example.com',
  ) => changeOf({ ...WORKSPACE, ...changes }, { claims: { groups } }, domain);

  it('is a new membership in an allowed domain, the first time', () => {
    expect(change({})).to.deep.equal({ operation: 'member.create', role: 'developer' });
    expect(change({}, ['web'], 'evil.example.com')).to.equal(null);
    expect(change({}, ['web'], null)).to.equal(null);
    expect(change({ admittedBefore: true })).to.equal(null);
  });

  it('is the role of a member that a sign-in has made, but not of an owner', () => {
    const member = { bySignIn: true, admittedBefore: true, memberRole: 'admin' } as const;
    expect(change(member)).to.deep.equal({ operation: 'member.update', role: 'developer' });
    expect(change(member, ['web'], null)).to.deep.equal({ operation: 'member.update', role: 'developer' });
    expect(change(member, ['ops'])).to.equal(null);
    expect(change({ ...member, roleClaim: null })).to.equal(null);
    expect(change({ ...member, memberRole: 'owner' })).to.equal(null);
    expect(change({ ...member, bySignIn: false })).to.equal(null);
  });
});

describe('The state of a sign-in', () => {
  const states = new SignInStates(Buffer.alloc(32, 1));

  it('is known to its browser and its installation only', () => {
    const begun = states.begin('browser', '/w/1');
    expect(states.resume('browser', begun.state)).to.deep.equal({ bindings: begun, returnTo: '/w/1' });
    expect(states.resume('another', begun.state)).to.equal(null);
    expect(new SignInStates(Buffer.alloc(32, 2)).resume('browser', begun.state)).to.equal(null);
    expect(states.resume('browser', `${begun.state.slice(0, -1)}!`)).to.equal(null);
  });

  it('never repeats, and ends after ten minutes', () => {
    const [one, two] = [states.begin('browser', '/'), states.begin('browser', '/')];
    for (const name of ['state', 'nonce', 'verifier'] as const) expect(one[name], name).to.not.equal(two[name]);
    const { now } = Date;
    try {
      Date.now = () => now() + 10 * 60_000 + 1;
      expect(states.resume('browser', one.state)).to.equal(null);
    } finally {
      Date.now = now;
    }
  });
});

describe('The page to return to', () => {
  it('is a path of this installation', () => {
    for (const path of ['/', '/w/1?tab=2#x', '/account']) expect(localPath(path), path).to.equal(path);
    const others = [
      ...['', 'w/1', '//evil.example', '/\\evil.example', '/\t/evil.example', 'https://evil.example', '/api'],
      '/api/x',
    ];
    for (const path of [...others, undefined, `/${'x'.repeat(500)}`]) expect(localPath(path), path).to.equal('/');
  });
});

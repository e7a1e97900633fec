import { expect } from 'chai';
import { type AccessFacts, hasRole, type OperationName, ROLES, refusal } from '../../../../shared/identity/policy.js';

const facts = (changes: Partial<AccessFacts> = {}): AccessFacts => ({
  role: 'owner',
  scope: 'write',
  emailVerified: true,
  mfaMissing: false,
  ...changes,
});

describe('Who may do what', () => {
  it('a role has the rights of every lower one', () => {
    expect(ROLES.map((role) => hasRole(role, 'developer'))).to.deep.equal([false, true, true, true]);
  });

  // The specification, Authentication 5 and 6: viewers read, developers write, admins write where it is protected.
  const expectations: [OperationName, open: (string | null)[], guarded: (string | null)[]][] = [
    ['service.read', [null, null, null, null], [null, null, null, null]],
    ['service.update', ['forbidden', null, null, null], ['forbidden', 'forbidden', null, null]],
    ['deployment.create', ['forbidden', null, null, null], ['forbidden', 'forbidden', null, null]],
    ['run.create', ['forbidden', null, null, null], ['forbidden', 'forbidden', null, null]],
    ['shell.open', ['forbidden', null, null, null], ['forbidden', 'forbidden', null, null]],
    ['tunnel.open', ['forbidden', null, null, null], ['forbidden', 'forbidden', null, null]],
    ['volume.delete', ['forbidden', null, null, null], ['forbidden', 'forbidden', null, null]],
    ['canvas.save', ['forbidden', null, null, null], ['forbidden', null, null, null]],
    ['workspace.update', ['forbidden', 'forbidden', null, null], ['forbidden', 'forbidden', null, null]],
  ];
  for (const [operation, open, guarded] of expectations) {
    it(`${operation} asks for its role`, () => {
      expect(ROLES.map((role) => refusal(operation, facts({ role })))).to.deep.equal(open);
      expect(ROLES.map((role) => refusal(operation, facts({ role, protectedEnvironment: true })))).to.deep.equal(
        guarded,
      );
    });
  }

  it('only a verified member with the write scope, and a second factor where one is required, writes', () => {
    expect(refusal('service.update', facts({ scope: 'read' }))).to.equal('forbidden');
    expect(refusal('service.update', facts({ emailVerified: false }))).to.equal('email_unverified');
    expect(refusal('service.update', facts({ mfaMissing: true }))).to.equal('mfa_required');
    expect(refusal('service.update', facts({ role: null }))).to.equal('forbidden');
    expect(refusal('service.read', facts({ scope: 'read', emailVerified: false, mfaMissing: true }))).to.equal(null);
    expect(refusal('service.read', facts({ role: null }))).to.equal('not_found');
  });
});

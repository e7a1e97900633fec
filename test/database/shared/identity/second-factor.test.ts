import { expect } from 'chai';
import { Secret, TOTP } from 'otpauth';
import { createOwnKey } from '../../../../api/resources/keys/commands.js';
import type { Transaction } from '../../../../shared/core/database/database-client.js';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { addMember, createKey, createWorkspace, removeMember } from '../../../../shared/identity/commands.js';
import { insertInvitation, listInvitations } from '../../../../shared/identity/invitation-store.js';
import type { Role } from '../../../../shared/identity/policy.js';
import {
  assertPassword,
  confirmSecondFactor,
  enrolSecondFactor,
  removeSecondFactor,
} from '../../../../shared/identity/second-factor.js';
import { findSession } from '../../../../shared/identity/session-store.js';
import { signIn } from '../../../../shared/identity/sign-in.js';
import { findApiKey, setPasswordHash } from '../../../../shared/identity/store.js';
import { Keyring } from '../../../../shared/secrets/keyring.js';
import { hashToken, newToken } from '../../../../shared/secrets/random-token.js';
import { cheapHash, makeUser } from '../../../support/factories.js';
import { codeOf } from '../../../support/outcomes.js';
import { makePasskey } from '../../../support/passkeys.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';

const EMAIL = 'user@example.com';
const PASSWORD = 'correct horse';

describe('A user', () => {
  const database = useTestDatabase();
  const deps = { keyring: new Keyring(new Sensitive(Buffer.alloc(32, 1).toString('base64'))) };
  let userId: string;
  beforeEach(async () => {
    await database.db.raw('truncate users, workspaces cascade');
    userId = (await makeUser(database.db, { email: EMAIL, password: PASSWORD })).id;
  });

  const code = (secret: string, steps = 0) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
  const counted: string[] = [];
  const attempt = (fields: object = {}) =>
    signIn(database.db, deps, {
      email: EMAIL,
      password: PASSWORD,
      replaces: null,
      client: '192.0.2.1',
      bound: false,
      countCode: async (id) => {
        counted.push(id);
        return async () => undefined;
      },
      ...fields,
    });

  async function enrolled(): Promise<{ secret: string; sessionId: string }> {
    const { session } = await attempt();
    const { secret } = await database.db.transaction((trx) => enrolSecondFactor(trx, deps, userId));
    const of = { userId, sessionId: session.id, code: code(secret) };
    await database.db.transaction((trx) => confirmSecondFactor(trx, deps, of));
    return { secret, sessionId: session.id };
  }

  it('signs in with the password only, and the session before it ends', async () => {
    expect(await codeOf(attempt({ password: 'wrong' }))).to.equal('unauthenticated');
    expect(await codeOf(attempt({ email: 'other@example.com' }))).to.equal('unauthenticated');
    const first = await attempt();
    await attempt({ replaces: first.token });
    expect(await findSession(database.db, hashToken(first.token), null)).to.equal(null);
  });

  it('with a second factor signs in with the password and its code, and each try at a code is counted', async () => {
    const { secret } = await enrolled();
    expect(await codeOf(attempt())).to.equal('mfa_required');
    expect(await codeOf(attempt({ otp: code(secret, 20) }))).to.equal('unauthenticated');
    expect(counted).to.deep.equal([userId]);
    expect(await codeOf(attempt({ password: 'wrong', otp: code(secret, 1) }))).to.equal('unauthenticated');
    expect((await attempt({ otp: code(secret, 1) })).session.second_factor).to.equal(true);
  });

  it('proves the password before enrolling a second factor', async () => {
    expect(await codeOf(assertPassword(database.db, EMAIL, 'wrong'))).to.equal('invalid_request');
    expect(await codeOf(assertPassword(database.db, 'other@example.com', PASSWORD))).to.equal('invalid_request');
    expect(await codeOf(assertPassword(database.db, EMAIL, PASSWORD))).to.equal('done');
  });

  it('cannot replace a confirmed second factor, and removes it with its code', async () => {
    const { secret, sessionId } = await enrolled();
    const again = database.db.transaction((trx) => enrolSecondFactor(trx, deps, userId));
    expect(await codeOf(again)).to.equal('conflict');
    const remove = (given: string) =>
      codeOf(database.db.transaction((trx) => removeSecondFactor(trx, deps, { userId, sessionId, code: given })));
    expect(await remove(code(secret, 20))).to.equal('invalid_request');
    expect(await codeOf(attempt())).to.equal('mfa_required');
    expect(await remove(code(secret, 1))).to.equal('done');
    expect(await codeOf(attempt())).to.equal('done');
  });

  it('who removes the authenticator stays verified if a passkey is left, and only then', async () => {
    for (const left of [false, true]) {
      const { secret, sessionId } = await enrolled();
      if (left) await makePasskey(database.db, userId);
      const of = { userId, sessionId, code: code(secret, 1) };
      const { session } = await database.db.transaction((trx) => removeSecondFactor(trx, deps, of));
      expect(session.second_factor, `a passkey is left: ${left}`).to.equal(left);
    }
  });

  describe('whose password or second factor changes while somebody signs in', () => {
    const waiting = async (count: number) => {
      const { rows } = await database.db.raw(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return rows.length >= count;
    };
    const changes = {
      'a new second factor': async (trx: Transaction) => {
        const { session } = await attempt();
        const { secret } = await enrolSecondFactor(trx, deps, userId);
        await confirmSecondFactor(trx, deps, { userId, sessionId: session.id, code: code(secret) });
      },
      'a new password': (trx: Transaction) => setPasswordHash(trx, userId, cheapHash('another password')),
    };

    for (const [name, change] of Object.entries(changes)) {
      it(`refuses the sign-in that comes second: ${name}`, async () => {
        const signedIn = await database.db.transaction(async (trx) => {
          await change(trx);
          const coming = codeOf(attempt());
          await eventually('1 wait for a lock', () => waiting(1), 20_000);
          return { coming };
        });
        expect(await signedIn.coming).to.be.oneOf(['mfa_required', 'unauthenticated']);
      });

      it(`ends the session that comes first: ${name}`, async () => {
        const before = await attempt();
        const { coming, changed } = await database.db.transaction(async (trx) => {
          // The sign-in waits in the middle of its transaction: it replaces a session that is locked.
          await trx.raw('select 1 from sessions where id = ? for update', [before.session.id]);
          const coming = attempt({ replaces: before.token });
          await eventually('1 wait for a lock', () => waiting(1), 20_000);
          const changed = database.db.transaction((other) => change(other));
          await Promise.race([changed, eventually('2 wait for a lock', () => waiting(2), 20_000)]);
          return { coming, changed };
        });
        const { token } = await coming;
        await changed;
        expect(await findSession(database.db, hashToken(token), null)).to.equal(null);
      });
    }
  });

  it('makes no key for a workspace that they left a moment before', async () => {
    const { db } = database;
    const owner = await makeUser(db, { email: 'other-owner@example.com' });
    const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name: 'Ours', owner: owner.email }));
    const input = { workspaceId: workspace.id, userId, name: 'late', scope: 'write' as const, expiresAt: null };
    expect(await codeOf(db.transaction((trx) => createOwnKey(trx, input)))).to.equal('not_found');
  });

  it('stays the owner of a workspace that has no other', async () => {
    const { db } = database;
    const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name: 'Ours', owner: EMAIL }));
    const member = { workspaceId: workspace.id, email: EMAIL };
    expect(await codeOf(db.transaction((trx) => removeMember(trx, member)))).to.equal('conflict');
    expect(await codeOf(db.transaction((trx) => addMember(trx, { ...member, role: 'viewer' })))).to.equal('conflict');
    await makeUser(db, { email: 'second@example.com' });
    await db.transaction((trx) => addMember(trx, { ...member, email: 'second@example.com', role: 'owner' }));
    expect(await codeOf(db.transaction((trx) => removeMember(trx, member)))).to.equal('done');
  });

  describe('whose membership the operator changes', () => {
    let member: { workspaceId: string; email: string };
    beforeEach(async () => {
      const { db } = database;
      const owner = await makeUser(db, { email: 'other-owner@example.com' });
      const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name: 'Ours', owner: owner.email }));
      member = { workspaceId: workspace.id, email: EMAIL };
      await add('admin');
      const sent = { workspace_id: workspace.id, email: 'invited@example.com', invited_by: EMAIL };
      await db.transaction((trx) => insertInvitation(trx, { ...sent, role: 'admin', token_hash: newToken().hash }));
    });

    const add = (role: Role) => database.db.transaction((trx) => addMember(trx, { ...member, role }));

    it('loses the keys and the sent invitations with the membership, also if they come back', async () => {
      const { db } = database;
      const key = await createKey(db, { ...member, scope: 'write', name: 'laptop', expiresAt: null });
      await db.transaction((trx) => removeMember(trx, member));
      await add('admin');
      expect((await findApiKey(db, key.row.lookup))?.revoked_at).to.be.instanceOf(Date);
      expect(await listInvitations(db, member.workspaceId)).to.deep.equal([]);
    });

    it('can no longer accept an invitation that was open when they were added', async () => {
      const { db } = database;
      const open = { workspace_id: member.workspaceId, email: EMAIL, invited_by: 'other-owner@example.com' };
      await db.transaction((trx) => insertInvitation(trx, { ...open, role: 'admin', token_hash: newToken().hash }));
      await db.transaction((trx) => removeMember(trx, member));
      expect(await listInvitations(db, member.workspaceId)).to.deep.equal([]);
    });

    it('loses the sent invitations with the role in which they were sent', async () => {
      await add('developer');
      expect(await listInvitations(database.db, member.workspaceId)).to.deep.equal([]);
    });
  });
});

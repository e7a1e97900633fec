import { expect } from 'chai';
import { authenticate } from '../../../../api/auth/authenticate.js';
import { authorize } from '../../../../api/auth/authorize.js';
import type { ApiDeps, Caller } from '../../../../api/http/api-deps.js';
import { addMember, createKey, removeMember } from '../../../../shared/identity/commands.js';
import { insertSession } from '../../../../shared/identity/session-store.js';
import { newToken } from '../../../../shared/secrets/random-token.js';
import type { WorkspaceRow } from '../../../../shared/workspaces/model.js';
import { makeUser, makeWorkspace } from '../../../support/factories.js';
import { codeOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { updateRow } from '../../../support/records.js';

const EMAIL = 'user@example.com';

describe('A caller', () => {
  const database = useTestDatabase();
  let workspace: WorkspaceRow;
  let failures: number;
  beforeEach(async () => {
    await database.db.raw('truncate users, workspaces cascade');
    workspace = await makeWorkspace(database.db);
    await makeUser(database.db, { email: EMAIL });
    await database.db.transaction((trx) => addMember(trx, { workspaceId: workspace.id, email: EMAIL, role: 'admin' }));
    failures = 0;
  });

  const deps = () => ({ db: database.db }) as unknown as ApiDeps;
  const newKey = async (expiresAt: Date | null = null, scope: 'read' | 'write' = 'write') =>
    createKey(database.db, { workspaceId: workspace.id, email: EMAIL, scope, name: 'key', expiresAt });

  interface Sent {
    authorization?: string;
    cookie?: string;
    accepted?: 'session' | 'key or session';
  }

  async function callerOf({ authorization = '', cookie, accepted = 'key or session' }: Sent): Promise<Caller | string> {
    const ctx = {
      state: { tls: true, caller: undefined as Caller | undefined, route: { method: 'GET' } },
      params: {},
      get: () => authorization,
      cookies: { get: () => cookie },
    };
    const count = async () => void failures++;
    try {
      await authenticate(deps(), { count }, accepted)(ctx as never);
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
    return ctx.state.caller ?? 'nobody';
  }

  async function permission(caller: Caller | string, workspaceId: string, operation: string): Promise<string> {
    const ctx = { state: { caller }, params: { workspaceId } };
    return codeOf((async () => authorize(deps(), operation as never)(ctx as never))(), 'permitted');
  }

  it('is the owner of a key, in the scope and the workspace of the key', async () => {
    const { key } = await newKey(null, 'read');
    expect(await callerOf({ authorization: `Bearer ${key}` })).to.include({
      kind: 'key',
      email: EMAIL,
      scope: 'read',
      workspaceId: workspace.id,
    });
    expect(failures).to.equal(0);
  });

  it('is nobody with a wrong, expired or revoked key, and each such request is counted', async () => {
    const { key, row } = await newKey();
    const expired = await newKey(new Date(Date.now() - 1000));
    const later = await newKey(new Date(Date.now() + 60_000));
    expect(await callerOf({ authorization: `Bearer ${later.key}` })).to.include({ kind: 'key' });
    const wrong = [key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A'), expired.key, 'nonsense', ''];
    for (const text of wrong) expect(await callerOf({ authorization: `Bearer ${text}` })).to.equal('unauthenticated');
    await database.db('api_keys').where({ id: row.id }).update({ revoked_at: new Date() });
    expect(await callerOf({ authorization: `Bearer ${key}` })).to.equal('unauthenticated');
    expect(failures).to.equal(5);
  });

  it('is the person of a session, unless a key is sent', async () => {
    const user = await database.db('users').where({ email: EMAIL }).first();
    const { token, hash } = newToken();
    await insertSession(database.db, {
      userId: user.id,
      tokenHash: hash,
      secondFactor: false,
      client: null,
      byPassword: true,
    });
    expect(await callerOf({ cookie: token })).to.include({ kind: 'session', email: EMAIL, workspaceId: null });
    expect(await callerOf({ cookie: newToken().token })).to.equal('unauthenticated');
    expect(await callerOf({ cookie: token, authorization: 'Bearer wrong' })).to.equal('unauthenticated');
    const { key } = await newKey();
    expect(await callerOf({ authorization: `Bearer ${key}`, accepted: 'session' })).to.equal('unauthenticated');
  });

  it('acts in its own workspaces only, and a key in one', async () => {
    const other = await makeWorkspace(database.db);
    await database.db.transaction((trx) => addMember(trx, { workspaceId: other.id, email: EMAIL, role: 'admin' }));
    const { key } = await newKey();
    const caller = await callerOf({ authorization: `Bearer ${key}` });
    expect(await permission(caller, workspace.id, 'service.create')).to.equal('permitted');
    expect(await permission(caller, workspace.id.toUpperCase(), 'service.create')).to.equal('permitted');
    expect(await permission(caller, other.id, 'service.create')).to.equal('not_found');
    expect(await permission(caller, 'no-uuid', 'service.create')).to.equal('not_found');
  });

  it('whose owner is no longer a member reads nothing and writes nothing with a key', async () => {
    await makeUser(database.db, { email: 'owner@example.com' });
    const member = { workspaceId: workspace.id, email: 'owner@example.com', role: 'owner' as const };
    await database.db.transaction((trx) => addMember(trx, member));
    const { key } = await newKey();
    const caller = await callerOf({ authorization: `Bearer ${key}` });
    await database.db.transaction((trx) => removeMember(trx, { workspaceId: workspace.id, email: EMAIL }));
    expect(await permission(caller, workspace.id, 'service.list')).to.equal('not_found');
    expect(await permission(caller, workspace.id, 'service.create')).to.equal('forbidden');
  });

  it('needs the second factor to write if the workspace requires it', async () => {
    await updateRow(database.db, 'workspaces', workspace.id, { configuration: { requireMfa: true } });
    const { key } = await newKey();
    const caller = await callerOf({ authorization: `Bearer ${key}` });
    expect(await permission(caller, workspace.id, 'service.list')).to.equal('permitted');
    expect(await permission(caller, workspace.id, 'service.create')).to.equal('mfa_required');
    await database.db('users').where({ email: EMAIL }).update({ totp_confirmed_at: new Date() });
    const proven = await callerOf({ authorization: `Bearer ${key}` });
    expect(await permission(proven, workspace.id, 'service.create')).to.equal('permitted');
  });
});

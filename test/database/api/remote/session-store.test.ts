import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { endShell, sessionsWithoutAccess, takeTicket } from '../../../../api/remote/session-store.js';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { createKey, createWorkspace } from '../../../../shared/identity/commands.js';
import { countRemoteSessions, insertRemoteSession } from '../../../../shared/remote/store.js';
import { makeService, makeUser } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

const EMAIL = 'owner@example.test';

describe('Sessions of shells and tunnels', () => {
  const database = useTestDatabase();
  let db: Db;
  let workspaceId: string;
  let serviceId: string;
  let userId: string;
  let keyId: string;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces, users cascade');
    userId = (await makeUser(db, { email: EMAIL })).id;
    const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name: 'Test', owner: EMAIL }));
    workspaceId = workspace.id;
    serviceId = (await makeService(db, workspace)).id;
    const key = { workspaceId, email: EMAIL, scope: 'write' as const, name: 'key', expiresAt: null };
    keyId = (await createKey(db, key)).row.id;
  });

  async function session(kind: 'shell' | 'tunnel' = 'shell'): Promise<{ id: string; ticket: Buffer }> {
    const ticket = randomBytes(32);
    const about = { workspace_id: workspaceId, service_id: serviceId, replica_id: uuidv7(), host_id: uuidv7() };
    const who = { actor: EMAIL, user_id: userId, credential: 'key' as const, credential_id: keyId, request_id: 'r' };
    const what = { kind, command: 'sh', columns: null, rows: null, port: null, recorded_until: null };
    const { id } = await db.transaction((trx) => insertRemoteSession(trx, { ...about, ...who, ...what }, ticket));
    return { id, ticket };
  }
  const take = (kind: 'shell' | 'tunnel', ticketHash: Buffer) =>
    takeTicket(db, { kind, ticketHash, address: '203.0.113.7' });
  const lost = async (...ids: string[]) => [...(await sessionsWithoutAccess(db, ids)).keys()];

  it('open with their ticket: a shell once, a tunnel as often as is wanted', async () => {
    const [shell, tunnel] = [await session(), await session('tunnel')];
    expect(await take('shell', randomBytes(32))).to.equal(null);
    expect(await take('tunnel', shell.ticket)).to.equal(null);
    expect(await take('shell', shell.ticket)).to.include({ id: shell.id });
    expect(await take('shell', shell.ticket)).to.equal(null);
    for (const _ of [1, 2]) expect(await take('tunnel', tunnel.ticket)).to.include({ id: tunnel.id });
    await db('remote_sessions').update({ expires_at: new Date(0) });
    expect(await take('tunnel', tunnel.ticket)).to.equal(null);
  });

  it('end with their key: when it is revoked, when it expires, and when it may only read', async () => {
    const { id } = await session();
    const changed = async (fields: object) => {
      await db('api_keys').where({ id: keyId }).update(fields);
      return lost(id);
    };
    expect(await lost(id)).to.deep.equal([]);
    expect(await changed({ expires_at: new Date(0) })).to.deep.equal([id]);
    expect(await changed({ expires_at: null, scope: 'read' })).to.deep.equal([id]);
    expect(await changed({ scope: 'write', revoked_at: new Date() })).to.deep.equal([id]);
    expect(await changed({ revoked_at: null })).to.deep.equal([]);
  });

  it('end when their owner is a viewer, or no member any more', async () => {
    const ids = [(await session()).id, (await session('tunnel')).id];
    const as = async (role: string) => {
      await db('memberships').where({ user_id: userId }).update({ role });
      return lost(...ids);
    };
    expect(await as('developer')).to.deep.equal([]);
    expect(await as('viewer')).to.deep.equal(ids);
    await db('memberships').where({ user_id: userId }).delete();
    expect(await lost(...ids)).to.deep.equal(ids);
  });

  it('end with their service', async () => {
    const { id } = await session();
    await db('services').where({ id: serviceId }).update({ deleted_at: new Date() });
    expect(await lost(id)).to.deep.equal([id]);
  });

  it('count against the limit until they end, and are recorded once in the audit log', async () => {
    const { id, ticket } = await session();
    const count = () => countRemoteSessions(db, 'shell', { workspaceId, serviceId });
    expect(await count()).to.deep.equal({ service: 1, workspace: 1 });
    await take('shell', ticket);
    for (const _ of [1, 2]) await endShell(db, id, { reason: 'the command ended', exitCode: 3 });
    expect(await count()).to.deep.equal({ service: 0, workspace: 0 });
    expect(await db('audit_entries').where({ operation: 'shell.end' })).to.have.length(1);
  });
});

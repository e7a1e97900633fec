import { expect } from 'chai';
import { createGuessLimit } from '../../../../api/auth/guess-limit.js';
import { createLimiter } from '../../../../api/http/rate-limit.js';
import { ReceiptQuota } from '../../../../api/http/receipt-quota.js';
import type { ApiContext } from '../../../../api/http/request-state.js';
import { rememberClient } from '../../../../shared/identity/session-store.js';
import { insertReceipt } from '../../../../shared/receipts/store.js';
import { makeUser, makeWorkspace } from '../../../support/factories.js';
import { codeOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';

function request(credentialId: string, { method = 'GET', ip = '203.0.113.1' } = {}) {
  const headers: Record<string, string> = {};
  const ctx = {
    ip,
    req: { socket: { remoteAddress: ip, localAddress: '192.0.2.1' } },
    state: { route: { method }, caller: { credentialId } },
    set: (name: string, value: string) => {
      headers[name] = value;
    },
  };
  return { ctx: ctx as unknown as ApiContext, headers };
}

describe('Rate limits', () => {
  const database = useTestDatabase();
  beforeEach(() => database.db('rate_limits').delete());

  it('of different names are different windows', async () => {
    const [one, other] = [createLimiter(database.db, 'one', 1), createLimiter(database.db, 'other', 1)];
    expect((await one.consume('key')).remainingPoints).to.equal(0);
    expect((await other.consume('key')).remainingPoints).to.equal(0);
  });
});

describe('The limit of guesses', () => {
  const database = useTestDatabase();
  const EMAIL = 'user@example.com';
  let guesses: ReturnType<typeof createGuessLimit>;
  let userId: string;
  beforeEach(async () => {
    await database.db('rate_limits').delete();
    await database.db.raw('truncate users cascade');
    userId = (await makeUser(database.db, { email: EMAIL })).id;
    guesses = createGuessLimit(database.db);
  });

  const password = (ip: string, name = EMAIL) => guesses.password(request('', { ip }).ctx, name);
  const wrong = (ip: string, name = EMAIL) => codeOf(password(ip, name));

  it('lets a client guess ten times at an account, however the address is spelled, and right guesses do not count', async () => {
    for (let i = 0; i < 5; i++) await (await password('203.0.113.1')).giveBack();
    for (let i = 0; i < 10; i++) {
      expect(await wrong('203.0.113.1', i % 2 === 0 ? EMAIL : ` ${EMAIL.toUpperCase()}`), `${i}`).to.equal('done');
    }
    expect(await wrong('203.0.113.1')).to.equal('rate_limited');
    expect(await wrong('203.0.113.2'), 'another client').to.equal('done');
    expect(await wrong('203.0.113.1', 'other@example.com'), 'another account').to.equal('done');
  });

  it('lets a client guess fifty times in all', async () => {
    for (let i = 0; i < 50; i++) expect(await wrong('203.0.113.1', `user${i}@example.com`)).to.equal('done');
    expect(await wrong('203.0.113.1', 'one-more@example.com')).to.equal('rate_limited');
  });

  it('does not count a known client among all that guess, so that nobody locks it out of other accounts', async () => {
    await rememberClient(database.db, userId, '203.0.113.1');
    for (let i = 0; i < 50; i++) await wrong('203.0.113.1', `user${i}@example.com`);
    expect(await wrong('203.0.113.1', 'one-more@example.com')).to.equal('rate_limited');
    expect(await wrong('203.0.113.1'), 'its own account').to.equal('done');
  });

  it('counts guesses of unknown clients against the account, and those of a known client not', async () => {
    const accounts = () => database.db('rate_limits').whereLike('key', 'guess-account%');
    await rememberClient(database.db, userId, '203.0.113.1');
    await wrong('203.0.113.1');
    expect(await accounts(), 'known').to.deep.equal([]);
    await wrong('203.0.113.2');
    expect(await accounts(), 'unknown').to.have.length(1);
  });

  it('lets all clients together guess ten one-time codes of a user', async () => {
    const code = (ip: string) => codeOf(guesses.code(request('', { ip }).ctx, userId));
    for (let i = 0; i < 10; i++) expect(await code(`203.0.113.${i}`)).to.equal('done');
    expect(await code('203.0.113.99')).to.equal('rate_limited');
  });
});

describe('The quota of receipts', () => {
  const database = useTestDatabase();

  async function room(quota: ReceiptQuota, workspaceId: string): Promise<string> {
    return codeOf(database.db.transaction((trx) => quota.assertRoom(trx, workspaceId)));
  }
  const store = (workspaceId: string, key: string, body: string) =>
    database.db.transaction((trx) =>
      insertReceipt(trx, { scope: workspaceId, key }, { payload_hash: 'h', status: 200, body }, workspaceId),
    );

  it('bounds their number, those of this process at once', async () => {
    const { id } = await makeWorkspace(database.db);
    const quota = new ReceiptQuota({ count: 2, bytes: 1000 });
    await store(id, 'one', 'x');
    expect(await room(quota, id)).to.equal('done');
    quota.add(id, 1);
    expect(await room(quota, id)).to.equal('rate_limited');
    const other = await makeWorkspace(database.db);
    expect(await room(quota, other.id), 'another workspace').to.equal('done');
  });

  it('bounds their bytes', async () => {
    const { id } = await makeWorkspace(database.db);
    await store(id, 'one', 'x'.repeat(100));
    expect(await room(new ReceiptQuota({ count: 10, bytes: 101 }), id)).to.equal('done');
    expect(await room(new ReceiptQuota({ count: 10, bytes: 100 }), id)).to.equal('rate_limited');
  });
});

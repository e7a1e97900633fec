import { expect } from 'chai';
import { useTotpCounter } from '../../../../shared/identity/second-factor-store.js';
import {
  deleteExpiredSessions,
  deleteOtherSessions,
  deleteSession,
  endSurplusSessions,
  findSession,
  insertSession,
  isKnownClient,
  rememberClient,
  rotateSession,
} from '../../../../shared/identity/session-store.js';
import {
  insertUser,
  setPasswordHash,
  setVerification,
  useVerificationToken,
} from '../../../../shared/identity/store.js';
import { useTestDatabase } from '../../../support/postgres.js';

const EMAIL = 'user@example.com';
const hash = (text: string) => Buffer.from(text);

describe('The records of sessions', () => {
  const database = useTestDatabase();
  let userId: string;
  beforeEach(async () => {
    await database.db.raw('truncate users cascade');
    const user = await insertUser(database.db, { email: EMAIL, passwordHash: 'hash', verified: false });
    if (!user) throw new Error('no user');
    userId = user.id;
  });

  const begin = (token: string, client: string | null = null) =>
    insertSession(database.db, { userId, tokenHash: hash(token), secondFactor: false, client, byPassword: true });
  const lives = async (token: string, client: string | null = null) =>
    (await findSession(database.db, hash(token), client)) !== null;
  const age = (column: string, interval: string) =>
    database.db.raw(`update sessions set ${column} = ${column} - cast(? as interval)`, [interval]);

  it('a session ends after twelve hours without use', async () => {
    await begin('a');
    await age('seen_at', '11 hours 59 minutes');
    expect(await lives('a')).to.equal(true);
    expect(await deleteExpiredSessions(database.db)).to.equal(0);
    await age('seen_at', '2 minutes');
    expect(await lives('a')).to.equal(false);
    expect(await deleteExpiredSessions(database.db)).to.equal(1);
  });

  it('a session ends after seven days, however often it is used', async () => {
    await begin('a');
    await age('expires_at', '6 days 23 hours');
    expect(await lives('a')).to.equal(true);
    expect(await deleteExpiredSessions(database.db)).to.equal(0);
    await age('expires_at', '2 hours');
    expect(await lives('a')).to.equal(false);
    expect(await deleteExpiredSessions(database.db)).to.equal(1);
  });

  it('a session that is bound to a client is good for that client only', async () => {
    await begin('a', '192.0.2.1');
    expect(await lives('a', '192.0.2.1')).to.equal(true);
    expect(await lives('a', '192.0.2.2')).to.equal(false);
    expect(await lives('a', null)).to.equal(false);
  });

  it('a user has 50 sessions, and those used longest ago end first', async () => {
    for (let i = 0; i < 52; i++) {
      const { id } = await begin(String(i));
      await database.db.raw(`update sessions set seen_at = now() - ? * interval '1 minute' where id = ?`, [i, id]);
    }
    await endSurplusSessions(database.db, userId);
    expect([await lives('49'), await lives('50'), await lives('51')]).to.deep.equal([true, false, false]);
  });

  it('other sessions end without the one that is kept, and a new password ends all', async () => {
    const kept = await begin('kept');
    await begin('other');
    await deleteOtherSessions(database.db, userId, kept.id);
    expect([await lives('kept'), await lives('other')]).to.deep.equal([true, false]);
    await setPasswordHash(database.db, userId, 'new');
    expect(await lives('kept')).to.equal(false);
  });

  it('a session that proved its second factor gets another token, and the old one is void', async () => {
    const { id } = await begin('old');
    const change = { tokenHash: hash('new'), secondFactor: true };
    expect(await rotateSession(database.db, id, change)).to.include({ id, second_factor: true });
    expect([await lives('old'), await lives('new')]).to.deep.equal([false, true]);
    await deleteSession(database.db, hash('new'));
    expect(await lives('new'), 'it was signed out').to.equal(false);
    expect(await rotateSession(database.db, id, change)).to.equal(null);
  });

  it('a step of the one-time code is used once, and no earlier one after it', async () => {
    expect(await useTotpCounter(database.db, userId, 100)).to.equal(true);
    expect(await useTotpCounter(database.db, userId, 100)).to.equal(false);
    expect(await useTotpCounter(database.db, userId, 99)).to.equal(false);
    expect(await useTotpCounter(database.db, userId, 101)).to.equal(true);
  });

  it('a token that verifies an address is good once, and for a day', async () => {
    await setVerification(database.db, userId, hash('token'));
    expect(await useVerificationToken(database.db, hash('other'))).to.equal(false);
    expect(await useVerificationToken(database.db, hash('token'))).to.equal(true);
    expect(await useVerificationToken(database.db, hash('token'))).to.equal(false);
    await setVerification(database.db, userId, hash('late'));
    await database.db('users').update({ verification_expires_at: new Date(Date.now() - 1000) });
    expect(await useVerificationToken(database.db, hash('late'))).to.equal(false);
  });

  it('a client is known for 90 days after a sign-in', async () => {
    await rememberClient(database.db, userId, '192.0.2.1');
    expect(await isKnownClient(database.db, EMAIL, '192.0.2.1')).to.equal(true);
    expect(await isKnownClient(database.db, EMAIL, '192.0.2.2')).to.equal(false);
    expect(await isKnownClient(database.db, 'other@example.com', '192.0.2.1')).to.equal(false);
    await database.db.raw(`update known_clients set seen_at = now() - interval '91 days'`);
    expect(await isKnownClient(database.db, EMAIL, '192.0.2.1')).to.equal(false);
  });

  it('the twenty clients that a user signed in from last are known', async () => {
    for (let i = 0; i < 21; i++) {
      await rememberClient(database.db, userId, `192.0.2.${i}`);
      await database.db.raw(`update known_clients set seen_at = seen_at - interval '1 minute'`);
    }
    expect(await isKnownClient(database.db, EMAIL, '192.0.2.0')).to.equal(false);
    expect(await isKnownClient(database.db, EMAIL, '192.0.2.1')).to.equal(true);
  });
});

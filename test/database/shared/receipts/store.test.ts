import { expect } from 'chai';
import { deleteExpiredReceipts, findReceipt, insertReceipt, receiptTotals } from '../../../../shared/receipts/store.js';
import { makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

const KEY = { scope: 'scope', key: 'key' };
const RECEIPT = { payload_hash: 'hash', status: 201, body: '{"é":1}' };

describe('Receipts', () => {
  const database = useTestDatabase();
  let workspaceId: string;
  beforeEach(async () => {
    await database.db('receipts').delete();
    workspaceId = (await makeWorkspace(database.db)).id;
    await database.db.transaction((trx) => insertReceipt(trx, KEY, RECEIPT, workspaceId));
  });

  const find = (key = KEY) => database.db.transaction((trx) => findReceipt(trx, key));
  const age = (interval: string) =>
    database.db.raw('update receipts set expires_at = expires_at - cast(? as interval)', [interval]);

  it('are found for 24 hours by their scope and key', async () => {
    expect(await find()).to.deep.equal(RECEIPT);
    expect(await find({ ...KEY, scope: 'other' })).to.equal(undefined);
    expect(await find({ ...KEY, key: 'other' })).to.equal(undefined);
    await age('23 hours 59 minutes');
    expect(await find()).to.deep.equal(RECEIPT);
    await age('2 minutes');
    expect(await find()).to.equal(undefined);
  });

  it('that have expired give their key to a new one', async () => {
    await age('25 hours');
    const fresh = { ...RECEIPT, body: 'fresh' };
    await database.db.transaction((trx) => insertReceipt(trx, KEY, fresh, workspaceId));
    expect(await find()).to.deep.equal(fresh);
  });

  it('are deleted after that, and no longer count', async () => {
    expect(await receiptTotals(database.db, workspaceId)).to.deep.equal({ count: 1, bytes: 8 });
    await age('23 hours 59 minutes');
    expect(await deleteExpiredReceipts(database.db)).to.equal(0);
    await age('2 minutes');
    expect(await receiptTotals(database.db, workspaceId)).to.deep.equal({ count: 0, bytes: 0 });
    expect(await deleteExpiredReceipts(database.db)).to.equal(1);
  });

  it('of the same key wait for each other', async () => {
    const order: string[] = [];
    let first: Promise<void> | undefined;
    await database.db.transaction(async (trx) => {
      await findReceipt(trx, KEY);
      first = find().then(() => void order.push('second'));
      await new Promise((resolve) => setTimeout(resolve, 200));
      order.push('first');
    });
    await first;
    expect(order).to.deep.equal(['first', 'second']);
  });
});

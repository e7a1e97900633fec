import { expect } from 'chai';
import { createDatabase, type Db, isDatabaseAway } from '../../../../../shared/core/database/database-client.js';
import { CHANNELS, Listener } from '../../../../../shared/core/database/listener.js';
import { createLogger } from '../../../../../shared/core/log.js';
import { Leadership } from '../../../../../workers/core/leadership.js';
import { failureOf } from '../../../../support/outcomes.js';
import { PostgresPair, packagedPostgres } from '../../../../support/postgres-pair.js';
import { eventually } from '../../../../support/processes.js';

describe('A standby of PostgreSQL', function () {
  this.timeout(120_000);
  let pair: PostgresPair;
  let db: Db;
  let listener: Listener;
  let leadership: Leadership;
  const heard: (string | null)[] = [];
  const warnings: string[] = [];
  const log = createLogger('test', 'warn');
  log.warn = (...words: unknown[]) => void warnings.push(words.map(String).join(' '));

  before(async function () {
    // The embedded package has no pg_basebackup.
    if ((await packagedPostgres()) === null) this.skip();
    pair = await PostgresPair.start();
    db = createDatabase({ url: pair.url, name: 'ranvier-pool', poolSize: 2 });
    await db.raw('create table notes (note text)');
    listener = new Listener(pair.url, log);
    listener.on(CHANNELS.work, (payload) => heard.push(payload));
    await listener.start();
    leadership = new Leadership(pair.url, 'ranvier.test', log);
    await leadership.start();
  });
  after(async () => {
    await leadership?.close();
    await listener?.close();
    await db?.destroy();
    await pair?.stop();
  });

  const works = async (what: string) => {
    await eventually('the pool writes', () =>
      db('notes')
        .insert({ note: what })
        .then(() => true),
    );
    await eventually('the listener hears', async () => {
      await db.raw('select pg_notify(?, ?)', [CHANNELS.work, what]);
      return heard.includes(what);
    });
    await eventually('there is a leader', () => leadership.leading);
  };

  it('is refused by pool, listener and leader while the address names it, and no connection to it is left', async () => {
    await works('before');
    pair.nameStandby();
    await eventually('the leader is none', () => !leadership.leading);
    await eventually(
      'the listener has tried several times',
      () => warnings.filter((it) => /listen/.test(it)).length > 3,
    );
    const refused = await failureOf(db('notes'));
    expect(refused.message).to.match(/names a standby/);
    expect(isDatabaseAway(refused)).to.equal(true);
    await eventually(
      'no connection is left',
      async () => {
        const open = await pair.askStandby(
          `select count(*)::int from pg_stat_activity where application_name like 'ranvier%'`,
        );
        // The listener and the leader may be connecting at this moment.
        return Number(open) <= 2;
      },
      20_000,
    );
    expect(leadership.leading).to.equal(false);
    pair.namePrimary();
    await works('after');
  });

  it('that takes the place of a lost primary is used, with everything that was acknowledged', async () => {
    await works('acknowledged');
    await pair.killPrimary();
    const lost = [await failureOf(db('notes')), await failureOf(db('notes'))];
    expect(lost.map(isDatabaseAway), lost.join('\n')).to.deep.equal([true, true]);
    await eventually('the leader is none', () => !leadership.leading);
    heard.length = 0;
    await pair.promote();
    await works('promoted');
    expect(heard[0], 'everything is to be looked at again').to.equal(null);
    expect(await db('notes').where({ note: 'acknowledged' })).to.have.length(1);
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import {
  dueSlot,
  expiredBackups,
  expiryOf,
  type KeptBackup,
  retentionDays,
  slotOfDay,
} from '../../../../shared/backups/model.js';
import { segmentsBetween } from '../../../../workers/backups/postgres-source.js';
import { decideRestore } from '../../../../workers/backups/restore-plan.js';
import { infoOf, keysOf } from '../../../../workers/data/redis-session.js';

const DAY_MS = 24 * 3_600_000;
const ID = '01a20226-de96-73e7-b4c7-183e80000000';
const at = (days: number) => new Date(Date.UTC(2026, 10, 1) + days * DAY_MS);

describe('The daily slot of a backup', () => {
  it('is a time of day that follows from the service', () => {
    expect(slotOfDay(ID)).to.equal(12 * 3_600_000);
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(slotOfDay(id)).to.be.within(0, DAY_MS - 1);
        expect(slotOfDay(id)).to.equal(slotOfDay(id));
      }),
    );
  });

  it('spreads services over the day', () => {
    const hours = new Set(
      fc.sample(fc.uuid(), { numRuns: 1000, seed: 7 }).map((id) => Math.floor(slotOfDay(id) / 3_600_000)),
    );
    expect(hours.size).to.equal(24);
  });

  it('is due once a day, and not before the service ran', () => {
    const service = { id: ID, liveSince: at(0.6), lastSlot: null };
    expect(dueSlot(service, at(0.7))).to.equal(null);
    expect(dueSlot(service, at(1.49))).to.equal(null);
    expect(dueSlot(service, at(1.5))).to.deep.equal(at(1.5));
    expect(dueSlot({ ...service, lastSlot: at(1.5) }, at(2.49))).to.equal(null);
    expect(dueSlot({ ...service, lastSlot: at(1.5) }, at(2.6))).to.deep.equal(at(2.5));
  });

  it('that was missed is made up for once, however many there were', () => {
    const service = { id: ID, liveSince: at(0), lastSlot: at(1.5) };
    const slot = dueSlot(service, at(9.9));
    expect(slot).to.deep.equal(at(9.5));
    expect(dueSlot({ ...service, lastSlot: slot }, at(9.95))).to.equal(null);
  });

  it('comes exactly once for each day, whenever somebody looks', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.array(fc.integer({ min: 1, max: 3 * DAY_MS }), { minLength: 1, maxLength: 40 }),
        (id, pauses) => {
          let now = at(0).getTime();
          let lastSlot: Date | null = null;
          for (const pause of pauses) {
            now += pause;
            const slot: Date | null = dueSlot({ id, liveSince: at(0), lastSlot }, new Date(now));
            if (slot === null) continue;
            expect(slot.getTime()).to.be.at.most(now);
            expect(now - slot.getTime()).to.be.below(DAY_MS);
            if (lastSlot !== null) expect(slot.getTime() - lastSlot.getTime()).to.be.at.least(DAY_MS);
            lastSlot = slot;
          }
        },
      ),
    );
  });
});

describe('The retention of backups', () => {
  const standard = { backupRetentionDays: 10, plan: 'standard' } as const;
  const backup = (id: string, days: number, status: KeptBackup['status'] = 'succeeded'): KeptBackup => ({
    id,
    status,
    createdAt: at(days),
  });

  it('is what the service asks for, at most what its plan allows', () => {
    expect(retentionDays(standard)).to.equal(10);
    expect(retentionDays({ ...standard, backupRetentionDays: 365 })).to.equal(14);
    expect(retentionDays({ backupRetentionDays: 7, plan: 'free' })).to.equal(1);
    expect(retentionDays({ backupRetentionDays: 40, plan: 'pro_plus' })).to.equal(30);
    expect(retentionDays({ backupRetentionDays: 7, plan: 'gone' as never })).to.equal(1);
    expect(expiryOf(at(3), standard)).to.deep.equal(at(13));
  });

  it('expires what is older, good or failed, and nothing that is under way', () => {
    const all = [
      backup('new', 20),
      backup('old', 5),
      backup('failed', 5, 'failed'),
      backup('running', 1, 'running'),
      backup('queued', 1, 'queued'),
    ];
    expect(expiredBackups(all, standard, at(20))).to.deep.equal(['old', 'failed']);
    expect(expiredBackups(all, standard, at(14.9))).to.deep.equal([]);
  });

  it('never takes the last good one', () => {
    const all = [backup('older', 1), backup('newest', 2), backup('failed', 3, 'failed')];
    expect(expiredBackups(all, standard, at(300))).to.deep.equal(['older', 'failed']);
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            id: fc.uuid(),
            createdAt: fc.integer({ min: 0, max: 100 }).map(at),
            status: fc.constantFrom('queued', 'running', 'succeeded', 'failed'),
          }),
        ),
        fc.integer({ min: 0, max: 1000 }),
        (backups, day) => {
          const gone = new Set(expiredBackups(backups, standard, at(day)));
          const good = backups.filter(({ status }) => status === 'succeeded');
          expect(good.length === 0 || good.some(({ id }) => !gone.has(id))).to.equal(true);
        },
      ),
    );
  });
});

describe('A restore', () => {
  it('goes on with data that was replaced, puts back what was only moved aside, and begins anew in every other case', () => {
    const [swapped, aside, untouched] = [
      { before: true, data: true },
      { before: true, data: false },
      { before: false, data: true },
    ];
    expect(decideRestore([])).to.equal('begin');
    expect(decideRestore([swapped])).to.equal('confirm');
    expect(decideRestore([aside])).to.equal('putBack');
    expect(decideRestore([untouched])).to.equal('begin');
    expect(decideRestore([{ before: false, data: false }])).to.equal('begin');
    expect(decideRestore([swapped, swapped])).to.equal('confirm');
    expect(decideRestore([swapped, untouched])).to.equal('putBack');
    expect(decideRestore([swapped, aside])).to.equal('putBack');
  });
});

describe('What servers say of a copy', () => {
  it('names every segment from the first to the last one', () => {
    const MB = 1024 * 1024;
    expect(segmentsBetween('000000010000000000000003', '000000010000000000000003', 16 * MB)).to.have.lengthOf(1);
    expect(segmentsBetween('0000000100000000000000FE', '000000010000000100000001', 16 * MB)).to.deep.equal([
      '0000000100000000000000FE',
      '0000000100000000000000FF',
      '000000010000000100000000',
      '000000010000000100000001',
    ]);
    expect(segmentsBetween('0000000100000000000003FF', '000000010000000100000000', 4 * MB)).to.have.lengthOf(2);
    expect(() => segmentsBetween('000000010000000000000003', '000000010000000000000002', 16 * MB)).to.throw();
    expect(() => segmentsBetween('000000010000000000000003', '000000020000000000000004', 16 * MB)).to.throw();
  });

  it('counts the keys of all databases of a redis', () => {
    const text = '# Keyspace\r\ndb0:keys=5,expires=1,avg_ttl=3\r\ndb7:keys=37,expires=0,avg_ttl=0\r\n';
    expect(keysOf(text)).to.equal(42);
    expect(keysOf('# Keyspace\r\n')).to.equal(0);
    expect(infoOf('# Persistence\r\nloading:0\r\nname:a:b\r\n')).to.deep.equal({ loading: '0', name: 'a:b' });
  });
});

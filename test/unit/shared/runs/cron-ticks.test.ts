import { expect } from 'chai';
import fc from 'fast-check';
import { latestTick, nextTick } from '../../../../shared/runs/cron-ticks.js';

/** Returns the ticks of a schedule after a time, in UTC. */
function ticks(expression: string, timezone: string, after: string, count: number): string[] {
  const found: string[] = [];
  let from: Date | null = new Date(after);
  for (let i = 0; i < count; i++) {
    from = nextTick({ expression, timezone }, from);
    if (from === null) break;
    found.push(from.toISOString().replace(':00.000Z', 'Z'));
  }
  return found;
}

describe('The ticks of a schedule', () => {
  it('follow the local clock of the zone', () => {
    expect(ticks('30 9 * * 1-5', 'America/New_York', '2026-01-02T00:00:00Z', 2)).to.deep.equal([
      '2026-01-02T14:30Z',
      '2026-01-05T14:30Z',
    ]);
  });

  it('in a local hour that is skipped happen once, at the first instant after it', () => {
    // Berlin skips 02:00 to 03:00 on 29 March 2026, at 01:00 UTC.
    const berlin = 'Europe/Berlin';
    expect(ticks('30 2 * * *', berlin, '2026-03-28T12:00:00Z', 2)).to.deep.equal([
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ]);
    expect(ticks('*/10 2 * * *', berlin, '2026-03-28T12:00:00Z', 2)).to.deep.equal([
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ]);
    expect(ticks('0,15,30 2 * * *', berlin, '2026-03-28T12:00:00Z', 1)).to.deep.equal(['2026-03-29T01:00Z']);
    // 03:00 exists, and the skipped 02:00 moves to it, which makes one run.
    expect(ticks('0 2-3 * * *', berlin, '2026-03-28T12:00:00Z', 2)).to.deep.equal([
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ]);
  });

  it('in a local hour that is repeated happen once, the first time', () => {
    // Berlin repeats 02:00 to 03:00 on 25 October 2026: 00:00 to 01:00 UTC, then 01:00 to 02:00.
    const berlin = 'Europe/Berlin';
    expect(ticks('30 2 * * *', berlin, '2026-10-24T12:00:00Z', 2)).to.deep.equal([
      '2026-10-25T00:30Z',
      '2026-10-26T01:30Z',
    ]);
    expect(ticks('*/20 2 * * *', berlin, '2026-10-24T12:00:00Z', 4)).to.deep.equal([
      '2026-10-25T00:00Z',
      '2026-10-25T00:20Z',
      '2026-10-25T00:40Z',
      '2026-10-26T01:00Z',
    ]);
    expect(ticks('0 1-3 * * *', berlin, '2026-10-24T22:00:00Z', 3)).to.deep.equal([
      '2026-10-24T23:00Z',
      '2026-10-25T00:00Z',
      '2026-10-25T02:00Z',
    ]);
  });

  it('of every hour run through both hours, and skip nothing', () => {
    const berlin = 'Europe/Berlin';
    const hourly = (from: string) => ticks('0 * * * *', berlin, from, 4);
    expect(hourly('2026-10-24T23:30:00Z')).to.deep.equal([0, 1, 2, 3].map((hour) => `2026-10-25T0${hour}:00Z`));
    expect(hourly('2026-03-28T23:30:00Z')).to.deep.equal([0, 1, 2, 3].map((hour) => `2026-03-29T0${hour}:00Z`));
  });

  it('know zones whose clocks move by half an hour, or at midnight', () => {
    // Lord Howe moves 02:00 to 02:30 on 4 October 2026, at 15:30 UTC the day before.
    expect(ticks('10 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00:00Z', 1)).to.deep.equal(['2026-10-03T15:30Z']);
    // Cairo skips midnight on 24 April 2026, a Friday, at 22:00 UTC the day before.
    expect(ticks('0 0 * * *', 'Africa/Cairo', '2026-04-23T12:00:00Z', 2)).to.deep.equal([
      '2026-04-23T22:00Z',
      '2026-04-24T21:00Z',
    ]);
  });

  it('wait for leap days and for months that are long enough', () => {
    expect(ticks('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 2)).to.deep.equal([
      '2028-02-29T00:00Z',
      '2032-02-29T00:00Z',
    ]);
    expect(ticks('0 0 31 * *', 'UTC', '2026-01-31T12:00:00Z', 3)).to.deep.equal([
      '2026-03-31T00:00Z',
      '2026-05-31T00:00Z',
      '2026-07-31T00:00Z',
    ]);
    expect(ticks('0 0 L * *', 'UTC', '2026-01-31T12:00:00Z', 1)).to.deep.equal(['2026-02-28T00:00Z']);
  });

  it('that were missed are made up for by the latest', () => {
    const schedule = { expression: '*/5 * * * *', timezone: 'UTC' };
    const missed = new Date('2026-01-01T00:05:00Z');
    expect(latestTick(schedule, missed, new Date('2026-01-01T00:05:01Z'))).to.deep.equal(missed);
    const much = latestTick(schedule, missed, new Date('2026-06-01T00:07:00Z'));
    expect(much).to.deep.equal(new Date('2026-06-01T00:05:00Z'));
    expect(latestTick(schedule, missed, new Date('2026-06-01T00:05:00Z'))).to.deep.equal(much);
  });

  it('whatever the schedule, zone and time: strictly later, in order, and the latest is the one before the next', function () {
    this.timeout(60_000);
    const field = (low: number, high: number) =>
      fc.oneof(
        { weight: 3, arbitrary: fc.constant('*') },
        fc.integer({ min: low, max: high }).map(String),
        fc
          .tuple(fc.integer({ min: low, max: high }), fc.integer({ min: low, max: high }))
          .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
        fc.integer({ min: 2, max: Math.min(high, 20) }).map((step) => `*/${step}`),
      );
    const expression = fc
      .tuple(field(0, 59), field(0, 23), fc.constantFrom('*', '1', '15', '*/2'), fc.constant('*'), field(0, 6))
      .map((fields) => fields.join(' '));
    const timezone = fc.constantFrom(
      ...['UTC', 'Europe/Berlin', 'America/Havana', 'Australia/Lord_Howe', 'Africa/Cairo', 'Asia/Kolkata'],
    );
    // Days around changes of the clocks are frequent.
    const days = [
      ...['2026-03-08', '2026-03-29', '2026-04-05', '2026-04-24', '2026-10-04', '2026-10-25', '2026-10-30'],
      ...['2026-11-01', '2026-12-31'],
    ];
    const start = fc
      .tuple(fc.constantFrom(...days), fc.integer({ min: -1500, max: 1500 }))
      .map(([day, minutes]) => new Date(Date.parse(`${day}T00:00:00Z`) + minutes * 60_000));
    fc.assert(
      fc.property(expression, timezone, start, fc.nat({ max: 200 }), (expr, zone, from, later) => {
        const schedule = { expression: expr, timezone: zone };
        const first = nextTick(schedule, from);
        if (first === null) return;
        const second = nextTick(schedule, first);
        expect(first.getTime()).to.be.greaterThan(from.getTime());
        expect(second?.getTime()).to.be.greaterThan(first.getTime());
        // No tick is between: the first one is found from any instant before it.
        expect(nextTick(schedule, new Date(first.getTime() - 1))).to.deep.equal(first);
        const now = new Date(first.getTime() + later * 60_000);
        let last = first;
        for (let next = second; next !== null && next <= now; next = nextTick(schedule, next)) last = next;
        expect(latestTick(schedule, first, now)).to.deep.equal(last);
      }),
      { numRuns: 400 },
    );
  });
});

import { Cron } from 'croner';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Maximum time by which a local clock is set back when summer time ends. */
const MAX_REPEAT_MS = 3 * HOUR_MS;
const MAX_FORMATS = 1000;

export interface Schedule {
  expression: string;
  timezone: string;
}

/**
 * Returns the first tick after an instant; null if there is none. A tick in a skipped local hour happens right after
 * that hour. A tick in a repeated hour happens only once, unless the hour field begins with `*`.
 */
export function nextTick({ expression, timezone }: Schedule, after: Date): Date | null {
  if (isOfEveryHour(expression)) return cron(expression, timezone).nextRun(after);
  const local = cron(expression, 'UTC');
  let wall = local.nextRun(new Date(wallClock(after.getTime(), timezone)));
  while (wall !== null) {
    const instant = instantOf(wall.getTime(), timezone);
    if (instant > after.getTime()) return new Date(instant);
    wall = local.nextRun(wall);
  }
  return null;
}

/** Returns the newest due tick. `tick` is the oldest one without a run. Several missed ticks cause only one run. */
export function latestTick(schedule: Schedule, tick: Date, now: Date): Date {
  const following = nextTick(schedule, tick);
  if (following === null || following > now) return tick;
  const { expression, timezone } = schedule;
  const everyHour = isOfEveryHour(expression);
  const pattern = cron(expression, everyHour ? timezone : 'UTC');
  const end = everyHour ? now.getTime() + 1000 : wallClock(now.getTime(), timezone) + MAX_REPEAT_MS;
  for (let [wall] = pattern.previousRuns(1, new Date(end)); wall; [wall] = pattern.previousRuns(1, wall)) {
    const instant = everyHour ? wall.getTime() : instantOf(wall.getTime(), timezone);
    if (instant <= now.getTime()) return new Date(Math.max(instant, tick.getTime()));
  }
  return tick;
}

function isOfEveryHour(expression: string): boolean {
  return expression.trim().split(/ +/)[1]?.startsWith('*') ?? false;
}

function cron(expression: string, timezone: string): Cron {
  return new Cron(expression, { paused: true, timezone, mode: '5-part' });
}

/** Returns the first instant at which a local clock shows this time; the end of the gap if the clock skips it. */
function instantOf(wall: number, timezone: string): number {
  const guesses = [wall - DAY_MS, wall + DAY_MS].map((near) => wall - (wallClock(near, timezone) - near));
  const exact = guesses.filter((instant) => wallClock(instant, timezone) === wall);
  if (exact.length > 0) return Math.min(...exact);
  let [before, after] = [Math.min(...guesses), Math.max(...guesses)];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (wallClock(middle, timezone) < wall) before = middle;
    else after = middle;
  }
  return after;
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** Returns what a local clock shows, in milliseconds since the epoch, as if that clock showed UTC. */
function wallClock(instant: number, timezone: string): number {
  const parts = Object.fromEntries(
    formatOf(timezone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function formatOf(timezone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timezone);
  if (known) return known;
  // Limits the size of the cache: tenants enter the names of time zones, and one zone can be spelled in many ways.
  if (FORMATS.size >= MAX_FORMATS) FORMATS.clear();
  const numeric = 'numeric';
  const format = new Intl.DateTimeFormat('en', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
  FORMATS.set(timezone, format);
  return format;
}

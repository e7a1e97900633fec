import { Cron } from 'croner';

export const MAX_SCHEDULE_LENGTH = 256;
const YEARS = 5;

/**
 * Returns true for a five-field cron expression that has a tick within five years after `from`. The cost depends only
 * on the text's length, because croner checks the bounds of a range before expanding it.
 */
export function isSchedule(text: string, from: Date): boolean {
  if (text.length > MAX_SCHEDULE_LENGTH || !/^[ -~]*$/.test(text)) return false;
  // croner also accepts names such as @daily, and six fields.
  if (text.trim().split(/ +/).length !== 5) return false;
  const stopAt = new Date(from);
  stopAt.setUTCFullYear(from.getUTCFullYear() + YEARS);
  try {
    return new Cron(text, { paused: true, timezone: 'UTC', mode: '5-part', stopAt }).nextRun(from) !== null;
  } catch {
    return false;
  }
}

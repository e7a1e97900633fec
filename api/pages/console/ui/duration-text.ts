/** Formats a duration: "0.4 s", "14 s", "3 min 5 s". */
export function durationText(milliseconds: number): string {
  if (milliseconds < 9950) return `${(Math.max(0, milliseconds) / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const STEPS: [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [86_400 * 365, 'year'],
  [86_400 * 30, 'month'],
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

/** Formats a time relative to now, in seconds: "1 hr. ago", "in 5 min.". 59.6 minutes are an hour, not 60 minutes. */
export function agoText(seconds: number): string {
  const isReached = (size: number, smaller: number) =>
    Math.round(Math.abs(seconds) / smaller) >= Math.floor(size / smaller);
  const [size, unit] = STEPS.find(([least], at) => isReached(least, STEPS[at + 1]?.[0] ?? 1)) ?? [1, 'second'];
  if (unit === 'second') return seconds > 5 ? 'in a moment' : 'just now';
  return RELATIVE.format(Math.round(seconds / size), unit);
}

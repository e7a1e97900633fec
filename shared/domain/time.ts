/** A time as people of a zone read it, such as `2026-11-21 13:05 (Africa/Lagos)`. For e-mails: the API speaks UTC. */
export function localTime(time: Date, zone: string): string {
  // The Swedish form of a date is the ISO one.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return `${format.format(time)} (${zone})`;
}

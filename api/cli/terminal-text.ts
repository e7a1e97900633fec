const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would execute these characters
  /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-Z\\-_]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour sequence begins with one
const COLOURS = /^\u001b\[[0-9;]*m$/;
/** Control characters and colour sequences, but not line breaks and tabs. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would execute these characters
  /\u001b\[[0-9;]*m|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Removes escape sequences from untrusted text. They could move the cursor or write to the clipboard. */
export function printable(text: string, { colours = false } = {}): string {
  return text.replace(ESCAPES, (found) => (colours && COLOURS.test(found) ? found : ''));
}

export function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/** Escapes control characters, so that a terminal shows them instead of interpreting them. */
export function escaped(text: string, { colours = false } = {}): string {
  return text.replace(CONTROLS, (found) =>
    colours && found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}${found.slice(1)}`,
  );
}

/** Formats a duration in milliseconds: `0.4 s`, `11.8 s`, `2 min 5 s`. */
export function seconds(ms: number): string {
  const whole = Math.max(0, ms) / 1000;
  if (whole < 99.95) return `${whole.toFixed(1)} s`;
  const rounded = Math.round(whole);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

/** Formats the time since an event: `8 s`, `2 min`, `5 h`, `3 d`. */
export function ago(ms: number): string {
  const whole = Math.max(0, Math.round(ms / 1000));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.round(whole / 60)} min`;
  if (whole < 48 * 3600) return `${Math.round(whole / 3600)} h`;
  return `${Math.round(whole / 86_400)} d`;
}

/** Parses `90`, `90s`, `15m`, `2h` or `3d` into milliseconds; null for other text. */
export function parseDuration(text: string): number | null {
  const [, number = '', unit = 's'] = /^(\d{1,9}(?:\.\d+)?)\s*(s|m|min|h|d)?$/.exec(text.trim()) ?? [];
  if (number === '') return null;
  const ms = { s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 }[unit as 's' | 'm' | 'min' | 'h' | 'd'];
  return Number(number) * ms;
}

export function table(rows: readonly (readonly string[])[]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const cellOf = (row: readonly string[]) => (cell: string, i: number) =>
    i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0);
  return rows.map((row) => row.map(cellOf(row)).join('  ').trimEnd());
}

/** Returns the last 8 characters of an id. Ids begin with a timestamp, so only their ends differ clearly. */
export function shortId(id: string): string {
  return id.slice(-8);
}

export function shortSha(sha: string): string {
  return sha.slice(0, 7);
}

export function count(number: number, one: string): string {
  return `${number} ${number === 1 ? one : `${one}s`}`;
}

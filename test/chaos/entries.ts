import { readdir } from 'node:fs/promises';
import { eventually } from '../support/processes.js';

/** After a kill, the next supervisor removes what was left within a minute. */
const SWEPT_MS = 90_000;

/** One entry of the final checks: what was counted, and what is wrong with it. */
export interface Entry {
  what: string;
  counted: number;
  wrong: string[];
}

export async function listFolder(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Repeats a check until it finds nothing wrong, or until the sweeps had enough time. */
export async function afterSweeps(what: string, look: () => Promise<Omit<Entry, 'what'>>): Promise<Entry> {
  await eventually(what, async () => (await look()).wrong.length === 0, SWEPT_MS).catch(() => undefined);
  return { what, ...(await look()) };
}

/** Formats the entries as a table. */
export function table(entries: readonly Entry[]): string {
  const width = Math.max(...entries.map(({ what }) => what.length));
  const lines = entries.map(({ what, counted, wrong }) => {
    const verdict = wrong.length === 0 ? 'ok' : `WRONG ${wrong.length}`;
    const detail = wrong.slice(0, 5).map((line) => `\n    ${line}`);
    return `${what.padEnd(width)}  ${String(counted).padStart(7)}  ${verdict}${detail.join('')}`;
  });
  return lines.join('\n');
}

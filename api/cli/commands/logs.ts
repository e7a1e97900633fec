import type { ApiClient } from '../api-client.js';
import type { LogBatch, LogLine, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { LogCursor } from '../log-cursor.js';
import { printable } from '../terminal-text.js';
import { waitUntil } from '../wait-until.js';
import { findDeployment } from './deploy.js';

export interface LogsOptions {
  follow?: boolean;
  lines: number;
  /** Maximum age of the lines to print, in milliseconds. */
  since?: number;
  source?: string;
  search?: string;
  deployment?: string;
}

const BATCH = 500;
const HOUR_MS = 3_600_000;
const POLL_INTERVAL_MS = 1000;

/** Prints the newest lines of a service's log. With --follow, then prints new lines until Ctrl-C. */
export async function logs(cli: Cli, options: LogsOptions): Promise<void> {
  const { api, service, path: logsPath } = await cli.ofService('logs');
  const path = `${logsPath}?${await filterOf(api, service, options)}`;
  const oldest = options.since === undefined ? 0 : Date.now() - options.since;
  const { lines, cursor } = await newest(api, path, options.lines, oldest);
  if (!options.follow && cli.json) return cli.terminal.json({ items: lines });
  for (const line of lines) print(cli, line);
  if (options.follow) await follow(cli, api, path, cursor);
}

async function filterOf(api: ApiClient, service: Service, options: LogsOptions): Promise<URLSearchParams> {
  const filter = new URLSearchParams();
  if (options.since !== undefined) filter.set('hours', String(Math.max(1, Math.ceil(options.since / HOUR_MS))));
  if (options.source !== undefined) filter.set('source', options.source);
  if (options.search !== undefined) filter.set('search', options.search);
  if (options.deployment !== undefined)
    filter.set('deploymentId', (await findDeployment(api, service.id, options.deployment)).id);
  return filter;
}

/** Returns the newest lines in ascending order, and the cursor after them. Reads as many pages as needed. */
async function newest(
  api: ApiClient,
  path: string,
  most: number,
  oldest: number,
): Promise<{ lines: LogLine[]; cursor: number }> {
  const batches: LogLine[][] = [];
  let cursor: number | null = null;
  let left = most;
  let before: number | undefined;
  do {
    const place: string = before === undefined ? '' : `&before=${before}`;
    const batch: LogBatch = await api.get<LogBatch>(`${path}&limit=${Math.min(BATCH, Math.max(1, left))}${place}`);
    cursor ??= batch.cursor;
    batches.unshift(left > 0 ? batch.items : []);
    left -= batch.items.length;
    const first: LogLine | undefined = batch.items[0];
    before = batch.unsearchedBefore ?? first?.id;
    const ended = first === undefined && batch.unsearchedBefore === undefined;
    if (ended || (first && Date.parse(first.timestamp) < oldest)) break;
  } while (left > 0);
  const lines = batches.flat().filter(({ timestamp }) => Date.parse(timestamp) >= oldest);
  return { lines, cursor: cursor ?? 0 };
}

/** Prints new lines from the cursor on, until Ctrl-C. If the connection is lost, no line is lost or printed twice. */
async function follow(cli: Cli, api: ApiClient, path: string, from: number): Promise<void> {
  const log = new LogCursor(api, path, from);
  const lost = () => lineOf(new Date().toISOString(), 'system', `the connection was lost, reading on from ${log.at}`);
  await waitUntil(cli, { intervalMs: POLL_INTERVAL_MS, lost }, async () => {
    await log.read((line) => print(cli, line));
    return undefined;
  });
}

function print({ json, terminal }: Cli, line: LogLine): void {
  const text = lineOf(line.timestamp, line.source, printable(line.message, { colours: terminal.colours }));
  const shown = line.level === 'error' ? terminal.paintData('red', text) : text;
  terminal.data(json ? JSON.stringify(line) : shown);
}

/** Formats a line with its local time: `12:01:09 system   connection lost`. */
function lineOf(timestamp: string, source: string, message: string): string {
  const time = new Date(timestamp);
  const [h, m, s] = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${h}:${m}:${s} ${source.padEnd(8)} ${message}`;
}

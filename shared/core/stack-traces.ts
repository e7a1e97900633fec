import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

const PLACE = /file:\/\/[^()]*:\d+:\d+/;

const maps = new Map<string, SourceMap | null>();

/**
 * Makes stack traces show locations in the TypeScript sources. Node's --enable-source-maps would read the map of every
 * module, which takes a fifth of the CPU time of startup.
 */
export function mapStackTraces(): void {
  Error.prepareStackTrace = (error, frames) =>
    `${titleOf(error)}${frames.map((frame) => `\n    at ${describeFrame(frame)}`).join('')}`;
}

/** The name or the message of an error may be a getter that throws. */
function titleOf(error: Error): string {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}

function describeFrame(frame: NodeJS.CallSite): string {
  const text = String(frame);
  const [url, line, column] = [frame.getFileName() ?? '', frame.getLineNumber(), frame.getColumnNumber()];
  // Source maps of packages can be megabytes in size.
  if (!url.startsWith('file:') || url.includes('/node_modules/') || line === null || column === null) return text;
  const entry = mapOf(url)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !('originalSource' in entry)) return text;
  const source = fileURLToPath(new URL(entry.originalSource, url));
  return text.replace(PLACE, () => `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`);
}

function mapOf(url: string): SourceMap | null {
  let map = maps.get(url);
  if (map === undefined) {
    map = readMap(url);
    maps.set(url, map);
  }
  return map;
}

function readMap(url: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')));
  } catch {
    return null;
  }
}

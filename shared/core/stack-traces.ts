import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Matches the location in a stack frame as V8 writes it: "file:///…/log.js:12:3". */
const PLACE = /file:\/\/[^()]*:\d+:\d+/;

/** Module URL → its source map; null for a module without one. */
const maps = new Map<string, SourceMap | null>();

/**
 * Makes stack traces show locations in the TypeScript sources. Reads a source map when a trace first needs it. Node's
 * --enable-source-maps would read and keep the map of every module, which takes a fifth of the CPU time of startup.
 */
export function mapStackTraces(): void {
  Error.prepareStackTrace = (error, frames) =>
    `${titleOf(error)}${frames.map((frame) => `\n    at ${describeFrame(frame)}`).join('')}`;
}

/** Returns the error's name and message. Either may be a getter that throws. */
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
  // Source maps of packages are not read, because some are megabytes in size.
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

import { isText, recordIn, recordOf } from '../files/json-values.js';

/** Package → the versions of Node.js that it requires. */
export type LockedEngines = Readonly<Record<string, string>>;

/** Returns the Node.js versions that the top-level packages of npm's lock file require. */
export function npmEngines(text: string): LockedEngines {
  const found: Record<string, string> = {};
  for (const [path, entry] of Object.entries(recordOf(recordIn(text)?.packages))) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    const { node } = recordOf(recordOf(entry).engines);
    if (name !== undefined && isText(node)) found[name] = node;
  }
  return found;
}

/**
 * Returns the Node.js versions that packages in pnpm's lock file require. If the file has several versions of a
 * package, the last one counts.
 */
export function pnpmEngines(text: string): LockedEngines {
  const found: Record<string, string> = {};
  let name: string | undefined;
  for (const line of text.split('\n')) {
    if (!line.startsWith('  ') || line.length > 1000) continue;
    if (/^ {2}\S/.test(line)) name = /^ {2}['"]?\/?((?:@[^/@]+\/)?[^/@'":]+)[@/]\d/.exec(line)?.[1];
    const range = /^ {4}engines: \{.*?\bnode: (?:'([^']*)'|"([^"]*)"|([^,}]*))/.exec(line);
    if (name !== undefined && range !== null) found[name] = range[1] ?? range[2] ?? range[3] ?? '';
  }
  return found;
}

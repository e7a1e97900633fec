import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Fault } from './fault.js';

const FOLDER = join(resolve(import.meta.dirname, '../../..'), 'test/mutate/faults');

/**
 * The faults of `faults/*.diff`: after `# path` of the source, each has its name, `-` lines to find, `+` lines instead.
 */
export const FAULTS: readonly Fault[] = readdirSync(FOLDER)
  .sort()
  .flatMap((name) => faultsOf(readFileSync(join(FOLDER, name), 'utf8')));

function faultsOf(text: string): Fault[] {
  const faults: Fault[] = [];
  let file = '';
  for (const [all = '', mark, rest = ''] of text.matchAll(/^(?:([-+#]) (.*)|.+)$/gm)) {
    const last = faults.at(-1);
    if (mark === '#') file = rest;
    else if (mark === undefined) faults.push(named(all, file));
    else if (last === undefined) throw new Error(`"${all}" has no name above it`);
    else if (mark === '-') last.find = last.find === '' ? rest : `${last.find}\n${rest}`;
    else last.replace = last.replace === '' ? rest : `${last.replace}\n${rest}`;
  }
  return faults;
}

function named(line: string, file: string): Fault {
  const [, name = line, places = '1'] = /^(.*?)(?: \((\d+) places\))?$/.exec(line) ?? [];
  return { name, file, find: '', replace: '', places: Number(places) };
}

const MAX_COMMANDS = 50;
export const MAX_LINE_LENGTH = 4096;

const EXECUTORS = new Set(['npx', 'bunx', 'pnpx', 'exec', 'env', 'cross-env', 'cross-env-shell', 'dotenv', 'dotenvx']);

/** Returns the names of the programs that a script calls directly. */
export function programsOf(script: string): string[] {
  return commandsOf(script).map((words) => nameOf(withoutPrefixes(words)[0] ?? ''));
}

/** Matches what separates commands, or a word. A value in quotes after `=` belongs to its word. */
const SEPARATOR_OR_WORD = /[;|&\n]|(?:="[^"\n]*"|='[^'\n]*'|[^\s;|&"'`\\])+/g;

/**
 * Splits a line into commands, and each command into words. Keeps the quotes of values such as `--title="my app"`, and
 * drops others, so that other quoted texts become several words.
 */
export function commandsOf(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [part] of line.slice(0, MAX_LINE_LENGTH).matchAll(SEPARATOR_OR_WORD)) {
    if (/^[;|&\n]/.test(part)) commands.push([]);
    else commands.at(-1)?.push(part);
  }
  return commands.filter((words) => words.length > 0).slice(0, MAX_COMMANDS);
}

/** Removes the words before a program: `NODE_ENV=x npx --yes cross-env A=b next dev` → `next dev`. */
export function withoutPrefixes(words: readonly string[]): readonly string[] {
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    if (/^[A-Za-z_]\w*=/.test(word) || EXECUTORS.has(nameOf(word)) || (at > 0 && word === '--')) continue;
    // Skips options of the prefix, for example of `npx --yes` and `dotenv -e .env --`.
    if (at > 0 && word.startsWith('-')) {
      if (word === '-e' || word === '-p' || word === '--package') at += 1;
      continue;
    }
    break;
  }
  return words.slice(at);
}

/** Returns a program's name without folder and version. `node_modules/.bin/vite` and `vite@5` become `vite`. */
export function nameOf(word: string): string {
  const name = word.startsWith('@') ? word : (word.split('/').at(-1) ?? word);
  const version = name.indexOf('@', 1);
  return version > 0 ? name.slice(0, version) : name;
}

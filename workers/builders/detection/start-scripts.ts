import { FOREVER_VALUED, OPTION_DECIDES, PROGRAMS, VALUED, WATCHERS, WATCHING } from './script-programs.js';
import { commandsOf, MAX_LINE_LENGTH, nameOf, withoutPrefixes } from './script-words.js';

export type CommandUse =
  | { use: 'production' }
  /** A watcher that restarts `command`. Production runs `command` without the watcher. */
  | { use: 'watched'; tool: string; command: string }
  /** A development server: it compiles on demand, or reloads pages. Never run in production. */
  | { use: 'development'; tool: string }
  /** A preview server: it serves the output of a build. Run only if there is no other way to start the project. */
  | { use: 'preview'; tool: string };

type Scripts = Readonly<Record<string, string>>;

/** Limits for scripts that call other scripts: the depth of calls, and the calls that one command leads to. */
const DEEPEST = 5;
const MAX_FOLLOWED = 50;

/** Decides what a shell command, for example a start script, is used for. */
export function commandUse(command: string, scripts: Scripts, main: string | null = null): CommandUse {
  return useOf(command, { scripts, main, followed: { count: 0 } }, 0);
}

interface About {
  scripts: Scripts;
  main: string | null;
  followed: { count: number };
}

function useOf(command: string, about: About, depth: number): CommandUse {
  const parts = commandsOf(command);
  const uses = parts.map((words) => useOfWords(words, about, depth));
  const development = uses.find(({ use }) => use === 'development');
  if (development !== undefined) return development;
  const watched = uses.findIndex(({ use }) => use === 'watched');
  const found = uses[watched];
  // A watcher among other commands cannot simply be removed, unless the other commands only run before it.
  if (found?.use === 'watched') {
    if (parts.length === 1) return found;
    const before = watched === parts.length - 1 ? stepsBefore(command) : null;
    return before === null
      ? { use: 'development', tool: found.tool }
      : { ...found, command: `${before} && ${found.command}` };
  }
  return uses.find(({ use }) => use === 'preview') ?? { use: 'production' };
}

/** Returns the part of a shell line before its last command if `&&` joins all its commands; null otherwise. */
function stepsBefore(line: string): string | null {
  if (line.length > MAX_LINE_LENGTH || /[;|\n"'`\\]|(?<!&)&(?!&)/.test(line)) return null;
  return line.slice(0, line.lastIndexOf('&&')).trim();
}

export const RUNNERS = new Set(['npm', 'pnpm', 'yarn', 'bun']);
const MANY = new Set(['concurrently', 'npm-run-all', 'npm-run-all2', 'run-p', 'run-s', 'wireit', 'conc']);

function useOfWords(all: readonly string[], about: About, depth: number): CommandUse {
  const words = withoutPrefixes(all);
  const program = nameOf(words[0] ?? '');
  const rest = words.slice(1);
  if (RUNNERS.has(program)) {
    const script = scriptOf(program, rest, about.scripts);
    if (script !== null) return follow(script, about, depth);
    // Commands such as `bun --watch src/index.ts` and `bun run --hot src/index.ts` run a file with a watcher.
    if (program === 'bun' && rest.some((word) => word === '--watch' || word === '--hot')) return watchedBun(rest);
    return { use: 'production' };
  }
  if (MANY.has(program)) return worst(rest, about, depth);
  if (WATCHERS.has(program)) return withoutWatcher(program, rest, about);
  if ((program === 'tsx' || program === 'node' || program === 'deno') && rest.some(isWatch)) {
    const file = rest.findIndex((word, at) => isSource(word) && rest[at - 1] !== '--watch-path');
    // After the file's name, `--watch` is an option of the program in that file: `node build.mjs --watch`.
    if (file >= 0 && !rest.slice(0, file).some(isWatch))
      return { use: 'development', tool: `${program} ${rest[file]} --watch` };
    const kept = rest.filter((word, at) => !isWatch(word) && rest[at - 1] !== '--watch-path');
    return { use: 'watched', tool: `${program} watch`, command: [program, ...kept].join(' ') };
  }
  if (OPTION_DECIDES.has(program) && rest.some((word) => WATCHING.has(word))) {
    return { use: 'development', tool: `${program} ${rest.find((word) => WATCHING.has(word))}` };
  }
  if (program === 'node') return useOfFile(rest);
  // `python -m SimpleHTTPServer` only serves the files of its folder.
  const module = /^python[\d.]{0,5}$/.test(program) && rest[0] === '-m' ? (rest[1] ?? '') : '';
  if (module === 'http.server' || module === 'SimpleHTTPServer')
    return { use: 'preview', tool: `${program} -m ${module}` };
  return useOfProgram(program, rest);
}

/** The file's name decides: `node build/dev-server.js` is for development. */
function useOfFile(rest: readonly string[]): CommandUse {
  const file = rest.find((word) => !word.startsWith('-')) ?? '';
  const name = (file.split('/').at(-1) ?? '').slice(0, 200).toLowerCase();
  const isForDevelopers = name
    .split(/[.\-_]/)
    .some((part) => part === 'dev' || part === 'devserver' || part === 'watch');
  return isForDevelopers ? { use: 'development', tool: `node ${file}` } : { use: 'production' };
}

function useOfProgram(program: string, rest: readonly string[]): CommandUse {
  const row = Object.hasOwn(PROGRAMS, program) ? PROGRAMS[program] : undefined;
  if (row === undefined) return { use: 'production' };
  const first = rest[0] === undefined || rest[0].startsWith('-') ? '' : rest[0];
  const tool = `${program} ${first}`.trim();
  if (program === 'stencil') {
    return rest.includes('--serve') || rest.includes('--dev') ? { use: 'development', tool } : { use: 'production' };
  }
  if (row.preview?.includes(first)) return { use: 'preview', tool };
  const { development = [] } = row;
  // In place of a subcommand there may be a folder or a page: `vite .`, `parcel index.html`.
  const names = ['build', 'optimize', 'generate', 'start', 'export', 'prepare', 'run', 'deploy', 'create', 'init'];
  const path = !names.includes(first) && (/[./]/.test(first) || rest.includes('--serve'));
  if (development.includes('*') || development.includes(first) || (path && development.includes(''))) {
    return { use: 'development', tool };
  }
  return { use: 'production' };
}

/** Returns the project's script that `npm run x`, `npm start` or `yarn x` runs; null if there is none. */
function scriptOf(program: string, rest: readonly string[], scripts: Scripts): string | null {
  const words = rest.filter((word) => !word.startsWith('-'));
  const [first = '', second = ''] = words;
  if (first === 'run' || first === 'run-script') return Object.hasOwn(scripts, second) ? second : null;
  if (first === 'start' || program !== 'npm') return Object.hasOwn(scripts, first) ? first : null;
  return null;
}

function follow(script: string, about: About, depth: number): CommandUse {
  about.followed.count += 1;
  if (depth >= DEEPEST || about.followed.count > MAX_FOLLOWED) return { use: 'production' };
  return useOf(about.scripts[script] ?? '', about, depth + 1);
}

/** If one of several scripts (`run-p dev:*`) is for development, the whole command is for development. */
function worst(words: readonly string[], about: About, depth: number): CommandUse {
  if (depth >= DEEPEST) return { use: 'production' };
  const names = words.map((word) => word.replace(/^npm:/, ''));
  const named = names.flatMap((name) =>
    Object.keys(about.scripts).filter((script) => script === name || matchesStar(script, name)),
  );
  const uses = [
    ...named.map((script) => follow(script, about, depth)),
    ...names.map((name, at) => useOfProgram(nameOf(name), names.slice(at + 1))),
    ...(names.some((name) => WATCHERS.has(nameOf(name)) || /(^|:)(watch|dev)(:|$)/.test(name))
      ? [{ use: 'development', tool: 'a watcher' } as const]
      : []),
  ];
  const found = uses.find(({ use }) => use === 'development' || use === 'watched');
  if (found === undefined || found.use === 'production') return { use: 'production' };
  return { use: 'development', tool: found.tool };
}

function matchesStar(script: string, name: string): boolean {
  return name.endsWith(':*') && script.startsWith(name.slice(0, -1));
}

function isSource(word: string): boolean {
  return /^[\w./@+-]*[./][\w./@+-]*$/.test(word) && !word.startsWith('-');
}

function isWatch(word: string): boolean {
  return word === 'watch' || word === '--watch' || /^--watch-(path|preserve-output)/.test(word);
}

/**
 * Removes the watcher: `nodemon -e js,ts --exec ts-node src/index.ts` → `ts-node src/index.ts`. If the command without
 * the watcher is unknown, the whole command is for development.
 */
function withoutWatcher(tool: string, rest: readonly string[], { main }: About): CommandUse {
  const words: string[] = [];
  const valued = tool === 'forever' ? FOREVER_VALUED : VALUED;
  for (let at = tool === 'forever' && rest[0] === 'start' ? 1 : 0; at < rest.length; at++) {
    const word = rest[at] ?? '';
    if (word === '--exec' || word === '-x') {
      const command = rest.slice(at + 1).filter((next) => next !== '--');
      return command.length === 0
        ? { use: 'development', tool }
        : { use: 'watched', tool, command: withEntry(command, main) };
    }
    if (valued.test(word)) at += 1;
    else if (words.length > 0 || !word.startsWith('-')) words.push(word);
  }
  const file = words[0] ?? main;
  if (file === undefined || file === null || !isPlain([file, ...words.slice(1)])) return { use: 'development', tool };
  const runner = /\.[cm]?tsx?$/.test(file) || tool.startsWith('ts') ? 'ts-node' : 'node';
  return { use: 'watched', tool, command: [runner, ...(words.length > 0 ? words : [file])].join(' ') };
}

/** Adds `main` of package.json to a command that is only a program, such as `babel-node`, as nodemon does. */
function withEntry(command: readonly string[], main: string | null): string {
  const hasFile = command.slice(1).some((word) => /\.[cm]?[jt]sx?$|\//.test(word));
  return [...command, ...(hasFile || main === null || command.length > 1 ? [] : [main])].join(' ');
}

function watchedBun(rest: readonly string[]): CommandUse {
  const kept = rest.filter((word) => !['--watch', '--hot', '--no-clear-screen'].includes(word));
  return { use: 'watched', tool: 'bun --watch', command: ['bun', ...kept].join(' ') };
}

function isPlain(words: readonly string[]): boolean {
  return words.every((word) => /^[\w./@:=+-]+$/.test(word));
}

/** Returns the project's file that a command such as `node dist/main` runs. Returns null for other commands. */
export function fileOf(command: string, scripts: Scripts): string | null {
  let words = commandsOf(command).at(-1) ?? [];
  for (let depth = 0; depth < DEEPEST; depth++) {
    words = [...withoutPrefixes(words)];
    const script = RUNNERS.has(nameOf(words[0] ?? ''))
      ? scriptOf(nameOf(words[0] ?? ''), words.slice(1), scripts)
      : null;
    if (script === null) break;
    words = commandsOf(scripts[script] ?? '').at(-1) ?? [];
  }
  if (nameOf(words[0] ?? '') !== 'node') return null;
  for (let at = 1; at < words.length; at++) {
    const word = words[at] ?? '';
    if (['-r', '--require', '--import', '--loader', '--experimental-loader', '--env-file'].includes(word)) at += 1;
    else if (!word.startsWith('-')) return /^[\w./@+-]+$/.test(word) ? word : null;
  }
  return null;
}

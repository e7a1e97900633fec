import type { PackageManifest } from '../files/package-manifest.js';
import { commandsOf, MAX_LINE_LENGTH, nameOf, withoutPrefixes } from './script-words.js';

/** Program → the package that contains it. These programs are often installed globally, or run with `npx`. */
const TOOLS: Readonly<Record<string, string>> = {
  tsx: 'tsx',
  'ts-node': 'ts-node',
  'cross-env': 'cross-env',
  'env-cmd': 'env-cmd',
  dotenv: 'dotenv-cli',
  concurrently: 'concurrently',
  'pm2-runtime': 'pm2',
  serve: 'serve',
  'http-server': 'http-server',
  'json-server': 'json-server',
};

/**
 * Returns commands that install the tools that a start command calls but `dependencies` do not list. A replica has no
 * access to a registry from which `npx` could fetch them.
 */
export function missingPrograms(
  command: string,
  { scripts }: Pick<PackageManifest, 'scripts'>,
  dependencies: PackageManifest['dependencies'],
): string[] {
  const isScript = /^(npm|yarn|pnpm|bun)( run)? start$/.test(command);
  const lines = isScript ? [scripts.prestart ?? '', scripts.start ?? ''] : [command];
  const words = lines.flatMap((line) => commandsOf(line.slice(0, MAX_LINE_LENGTH))).flatMap(programs);
  const missing = [...new Set(words)].filter((program) => {
    const owner = Object.hasOwn(TOOLS, program) ? TOOLS[program] : undefined;
    return owner !== undefined && !Object.hasOwn(dependencies, owner);
  });
  return missing.map((program) => {
    // Uses a separate folder, because npm would remove the packages that another package manager has installed.
    const install = `npm install --no-save --prefix node_modules/.tools ${TOOLS[program]}`;
    const link = `mkdir -p node_modules/.bin && ln -s ../.tools/node_modules/.bin/${program} node_modules/.bin/${program}`;
    return `command -v ${program} >/dev/null || (${install} && ${link})`;
  });
}

/**
 * Returns the program that a command starts, and the words before it. A wrapper before the program may be missing too.
 * For `cross-env A=b tsx app.ts`, returns `cross-env`, `A=b` and `tsx`.
 */
function programs(words: readonly string[]): string[] {
  const rest = withoutPrefixes(words);
  return words.slice(0, words.length - rest.length + 1).map(nameOf);
}

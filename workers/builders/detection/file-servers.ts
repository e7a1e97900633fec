import { type Application, dependsOn } from './application.js';
import { commandsOf, nameOf, withoutPrefixes } from './script-words.js';

/** Programs that serve the files of a folder → the package that has them. */
const FILE_SERVERS: Readonly<Record<string, string>> = {
  serve: 'serve',
  'http-server': 'http-server',
  sirv: 'sirv-cli',
  'sirv-cli': 'sirv-cli',
  ws: 'local-web-server',
  superstatic: 'superstatic',
};
const VALUED = /^(-l|--listen|-p|--port|-c|--config|-H|--host|-a|-P|--proxy|-d|--directory)$/;

export interface ServedFolder {
  /** The folder that is served, relative to the project; `.` is the project itself. */
  folder: string;
  /** True if one page answers every path. */
  singlePage: boolean;
}

/**
 * Returns the folder of a command that only serves files, such as `npx serve dist`.
 * Returns null for other commands, and if the project installs the program. A replica has no registry from which to
 * fetch the program, so the platform publishes the folder instead.
 */
export function servedFolder(command: string, app: Pick<Application, 'manifest'>): ServedFolder | null {
  const words = withoutPrefixes(commandsOf(command).at(-1) ?? []);
  const program = nameOf(words[0] ?? '');
  const owner = Object.hasOwn(FILE_SERVERS, program) ? FILE_SERVERS[program] : undefined;
  if (owner === undefined || dependsOn(app, owner)) return null;
  const rest = words.slice(1);
  const folder = rest.find(
    (word, at) => /^[\w./@-]+$/.test(word) && !word.startsWith('-') && !VALUED.test(rest[at - 1] ?? ''),
  );
  const singlePage = rest.some((word) => ['-s', '--single', '--spa'].includes(word));
  return { folder: folder?.replace(/^\.\//, '').replace(/\/$/, '') || '.', singlePage };
}

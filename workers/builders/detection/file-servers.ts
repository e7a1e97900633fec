import { type Application, dependsOn } from './application.js';
import { commandsOf, nameOf, withoutPrefixes } from './script-words.js';

/** Program that serves the files of a folder → the npm package that contains the program. */
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
  singlePage: boolean;
}

/**
 * Returns the folder that a command serves with a missing file server; null for other commands. The file server is
 * missing if it is not among the application's packages. The platform then publishes the folder itself, because a
 * replica cannot fetch the file server.
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

import { type Files, packageJson } from '../support/repositories.js';

/** A project that is made and deployed with nothing but its address and kind. */
export interface FrameworkProject {
  name: string;
  /** The generator and its arguments, as a shell gives them to `npm exec`; `.` is the project's folder. None if files are all. */
  generator?: string;
  /** Files written over what the generator made. */
  files?: Files;
  /** Writes the lock file of this package manager; npm's own if it is absent. */
  manager?: 'npm' | 'pnpm' | 'yarn' | 'yarn4' | 'bun' | 'none';
  kind?: 'web' | 'static';
  rootDirectory?: string;
  /** What its own page contains; `own page` if it is absent. */
  page?: RegExp;
  /** The path of its own page; `/` if it is absent. */
  visit?: string;
  /** A path that no file has and that the single page must answer. */
  route?: string;
}

/** A server without a library. */
export const listens = (argument: string) =>
  `require('node:http').createServer((_, response) => response.end('own page')).listen(${argument});\n`;
export const server = (argument: string, fields: object = { scripts: { start: 'node server.js' } }): Files => ({
  'package.json': packageJson(fields),
  'server.js': listens(argument),
});
export const PORT = 'process.env.PORT';

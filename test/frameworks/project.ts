import { type Files, packageJson } from '../support/repositories.js';

export interface FrameworkProject {
  name: string;
  /** The generator and its arguments for `npm exec`; absent if `files` is the whole project. */
  generator?: string;
  files?: Files;
  /** The package manager that writes the lock file; npm if absent. */
  manager?: 'npm' | 'pnpm' | 'yarn' | 'yarn4' | 'bun' | 'none';
  kind?: 'web' | 'static';
  rootDirectory?: string;
  page?: RegExp;
  visit?: string;
  /** A path without a file, which a single-page application must answer. */
  route?: string;
}

export const listens = (argument: string) =>
  `require('node:http').createServer((_, response) => response.end('own page')).listen(${argument});\n`;
export const server = (argument: string, fields: object = { scripts: { start: 'node server.js' } }): Files => ({
  'package.json': packageJson(fields),
  'server.js': listens(argument),
});
export const PORT = 'process.env.PORT';

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { starterNode } from '../../shared/services/service-source.js';
import type { RepositorySource } from './repository-source.js';

const MESSAGE = 'Empty Node.js project';

/** Starter projects, which the platform generates without a request to a server. */
export const starterSource: RepositorySource = {
  resolve: async ({ url }) => ({ sha: commitOf(url), message: MESSAGE }),
  checkout: async ({ url, directory }) => {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'package.json'), manifestOf(url));
  },
  heads: async ({ url, branches }) =>
    new Map(branches === 'all' ? [] : branches.map((branch) => [branch, commitOf(url)])),
  messageOf: async () => MESSAGE,
  changedPaths: async () => [],
  fileOf: async () => ({ type: 'missing' }),
  sweep: async () => 0,
};

function manifestOf(url: string): string {
  const node = starterNode(url);
  const engines = node ? { engines: { node } } : {};
  return `${JSON.stringify({ name: 'starter', private: true, ...engines }, null, 2)}\n`;
}

/** The id changes only if the files change. */
function commitOf(url: string): string {
  return createHash('sha1').update(manifestOf(url)).digest('hex');
}

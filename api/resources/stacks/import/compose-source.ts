import { posix } from 'node:path';
import { interpolate, type Reading, shellWords } from './compose-text.js';
import { type Loose, looseOf, loseKeys, textOf, textsOf } from './loose.js';

/** Keys of a build that are read, or have no effect here. */
const BUILD: ReadonlySet<string> = new Set([
  'context',
  'args',
  'cache_from',
  'cache_to',
  'tags',
  'labels',
  'pull',
  'network',
]);
const REASONS: Readonly<Record<string, string>> = {
  dockerfile_inline: 'write it into a Dockerfile',
};

/** An address, in place of a folder. */
const ADDRESS = /^(https?|git|ssh):|^git@/;

/** Returns the folder or the address that a service is built from. */
export function contextOf(build: unknown): string {
  return (typeof build === 'string' ? build : textOf(looseOf(build).context)) || '.';
}

/** Returns the image of a service, or the repository and the folder that it is built from. */
export function sourceOf(
  at: string,
  { build, image }: Loose,
  { repository, folder: home, env, lost }: Reading & { repository: string; folder: string },
): Record<string, unknown> {
  if (build === undefined) {
    const name = interpolate(typeof image === 'string' ? image : '', env).value;
    if (name === '') lost(at, 'has neither an image nor a build');
    return { sourceType: 'image', image: name };
  }
  const { dockerfile, target, ...more } = looseOf(build);
  loseKeys(`${at}.build`, more, BUILD, REASONS, lost);
  const context = contextOf(build);
  const folder = folderOf(home, context);
  const from = ADDRESS.test(context) ? context.split('#')[0] : repository;
  if (folder === null) lost(`${at}.build.context`, `${context} is outside of the repository`);
  if (from === '') lost(`${at}.build`, 'the address of the repository is not known: set repository');
  return {
    ...(from === '' ? {} : { repository: from }),
    buildMethod: 'dockerfile',
    ...(folder === null || folder === '' || from !== repository ? {} : { rootDirectory: folder }),
    ...(textOf(dockerfile) === '' ? {} : { dockerfilePath: textOf(dockerfile).replace(/^\.\//, '') }),
    ...(textOf(target) === '' ? {} : { dockerfileTarget: textOf(target) }),
  };
}

/** Returns a folder of the repository, from the folder of the file; '' for its root, null outside. */
function folderOf(home: string, context: string): string | null {
  if (ADDRESS.test(context)) return '';
  if (context.startsWith('/') || context.startsWith('~')) return null;
  const folder = posix.normalize(`${home}/${context}`.replace(/^\/+/, '')).replace(/\/+$/, '');
  return folder === '.' ? '' : folder === '..' || folder.startsWith('../') ? null : folder;
}

/** Returns the command of a service, as a shell reads it. */
export function commandOf({ command, entrypoint }: Loose, env: Reading['env']): { startCommand?: string } {
  const parts = [entrypoint, command].flatMap((part) => {
    if (Array.isArray(part)) return [shellWords(textsOf(part).map((word) => interpolate(word, env).value))];
    return typeof part === 'string' && part !== '' ? [interpolate(part, env).value] : [];
  });
  return parts.length === 0 ? {} : { startCommand: parts.join(' ') };
}

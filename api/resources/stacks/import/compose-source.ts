import { posix } from 'node:path';
import { shellWords } from '../../shell-words.js';
import { interpolate, type Reading, wordsOf } from './compose-text.js';
import { type Loose, looseOf, loseKeys, namesIn, textOf, textsOf } from './loose.js';

/** Keys of `build` that the import reads or that have no effect on this platform. Other keys are reported as lost. */
const BUILD = namesIn(`
  context args cache_from cache_to tags labels pull network
`);

/** Matches a repository's address, as opposed to a folder. */
const ADDRESS = /^(https?|git|ssh):|^git@/;

export function contextOf(build: unknown): string {
  return (typeof build === 'string' ? build : textOf(looseOf(build).context)) || '.';
}

export interface Copy {
  source: string;
  target: string;
}

/** Returns the image of a service, or the repository and folder from which it is built. */
export function sourceOf(
  at: string,
  { build, image }: Loose,
  { repository, folder: home, copies, env, lost }: Reading & Place & { copies: readonly Copy[] },
): Record<string, unknown> {
  if (build === undefined) {
    const { value: name, missing } = interpolate(typeof image === 'string' ? image : '', env);
    if (missing.length > 0) lost(`${at}.image`, `${missing.join(', ')} has no value: write the tag into the image`);
    if (name === '') lost(at, 'has neither an image nor a build');
    if (copies.length === 0) return { sourceType: 'image', image: name };
    const lines = copies.map(({ source, target }) => `COPY ${JSON.stringify([source, target])}\n`);
    return { repository, buildMethod: 'dockerfile', dockerfileText: `FROM ${name}\n${lines.join('')}` };
  }
  const { dockerfile, target, dockerfile_inline: inline, ...more } = looseOf(build);
  loseKeys(`${at}.build`, more, BUILD, {}, lost);
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
    ...(textOf(inline) === '' ? {} : { dockerfileText: textOf(inline) }),
    ...(textOf(target) === '' ? {} : { dockerfileTarget: textOf(target) }),
  };
}

export interface Place {
  repository: string;
  folder: string;
}

/** Returns a folder's path in the repository: '' for the root, null if outside it. `context` is relative to `home`. */
export function folderOf(home: string, context: string): string | null {
  if (ADDRESS.test(context)) return '';
  if (context.startsWith('/') || context.startsWith('~')) return null;
  const folder = posix.normalize(`${home}/${context}`.replace(/^\/+/, '')).replace(/\/+$/, '');
  return folder === '.' ? '' : folder === '..' || folder.startsWith('../') ? null : folder;
}

/** Returns a service's command. `command` replaces only the image's CMD, `entrypoint` also its ENTRYPOINT. */
export function commandOf(
  at: string,
  { command, entrypoint }: Loose,
  { env, lost }: Reading,
): { startCommand?: string; startArguments?: string[] } {
  const words = (part: unknown) => {
    const read = textsOf(part).map((text) => interpolate(text, env));
    const missing = [...new Set(read.flatMap((each) => each.missing))];
    if (missing.length > 0) lost(`${at}.command`, `${missing.join(', ')} has no value: write it into the command`);
    return Array.isArray(part) ? read.map(({ value }) => value) : read.flatMap(({ value }) => wordsOf(value));
  };
  const given = words(command);
  if (entrypoint === undefined || entrypoint === null) return given.length === 0 ? {} : { startArguments: given };
  const all = [...words(entrypoint), ...given];
  return all.length === 0 ? {} : { startCommand: shellWords(all) };
}

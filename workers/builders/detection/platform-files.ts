import { errorMessage } from '../../../shared/core/error-registry.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import { BuildError } from '../../failures/explained-errors.js';
import { filled, isRecord, recordOf } from '../files/json-values.js';
import { parseToml, parseYaml } from '../files/lazy-packages.js';
import type { ProjectFiles } from '../files/project-files.js';

/** Settings in a repository for another hosting platform. The service's own configuration takes precedence. */
export interface PlatformSettings {
  file: string;
  buildCommand: string | null;
  startCommand: string | null;
  publishDirectory: string | null;
  /** The application's folder, relative to the file's folder; null if it is the file's folder. */
  rootDirectory: string | null;
  /** True if the index page is served for every unknown path. */
  singlePage: boolean;
  /** True for platforms that only serve files. Their settings do not describe a server. */
  forSites: boolean;
}

const NOTHING: Omit<PlatformSettings, 'file' | 'forSites'> = {
  buildCommand: null,
  startCommand: null,
  publishDirectory: null,
  rootDirectory: null,
  singlePage: false,
};

type Reader = (
  value: Record<string, unknown>,
  about: { kind: ServiceKind; rootDirectory: string },
) => Partial<PlatformSettings>;

const READERS: Readonly<Record<string, { forSites: boolean; read: Reader }>> = {
  'render.yaml': { forSites: false, read: readRender },
  'railway.json': { forSites: false, read: readRailway },
  'railway.toml': { forSites: false, read: readRailway },
  'nixpacks.toml': { forSites: false, read: readNixpacks },
  'netlify.toml': { forSites: true, read: readNetlify },
  'vercel.json': { forSites: true, read: readVercel },
};

export const PLATFORM_FILES = [...Object.keys(READERS), 'app.json'];

/** Reads a folder's settings for other platforms. `rootDirectory` is relative to the folder. Throws `BuildError`. */
export function platformSettings(files: ProjectFiles, kind: ServiceKind, rootDirectory = ''): PlatformSettings[] {
  return Object.entries(READERS).flatMap(([file, { forSites, read }]) => {
    const text = files.text(file);
    if (text === undefined) return [];
    return [{ ...NOTHING, ...read(parsed(file, text), { kind, rootDirectory }), file, forSites }];
  });
}

function parsed(file: string, text: string): Record<string, unknown> {
  try {
    return recordOf(parserOf(file)(text));
  } catch (error) {
    throw new BuildError(
      `${file} cannot be read: ${errorMessage(error).split('\n')[0]?.slice(0, 200)}; mend or remove it`,
    );
  }
}

function parserOf(file: string): (text: string) => unknown {
  if (file.endsWith('.toml')) return parseToml;
  if (file.endsWith('.yaml')) return parseYaml;
  return (text) => JSON.parse(text) as unknown;
}

/**
 * Reads render.yaml (https://render.com/docs/blueprint-spec). Uses the first service of the wanted kind in
 * `rootDirectory`. If `rootDirectory` is empty and has no such service, uses the first service in any folder.
 */
function readRender({ services }: Record<string, unknown>, { kind, rootDirectory }: Parameters<Reader>[1]) {
  const all = Array.isArray(services) ? services.filter(isRecord) : [];
  const isStatic = (service: Record<string, unknown>) => (service.runtime ?? service.env) === 'static';
  const type = kind === 'worker' ? 'worker' : kind === 'private' ? 'pserv' : 'web';
  const fitting = all.filter((service) => service.type === type && (kind !== 'static' || isStatic(service)));
  const service = fitting.find(({ rootDir }) => folderOf(rootDir) === rootDirectory) ?? fitting[0];
  if (service === undefined) return {};
  const found = folderOf(service.rootDir);
  if (rootDirectory !== '' && found !== rootDirectory) return {};
  const { routes } = service;
  return {
    buildCommand: filled(service.buildCommand),
    startCommand: filled(service.startCommand),
    publishDirectory: pathOf(service.staticPublishPath),
    rootDirectory: rootDirectory === '' && found !== '' ? found : null,
    singlePage:
      Array.isArray(routes) && routes.some((route) => isRecord(route) && route.type === 'rewrite' && toIndex(route)),
  };
}

function readRailway({ build, deploy }: Record<string, unknown>) {
  return {
    buildCommand: filled(recordOf(build).buildCommand),
    startCommand: filled(recordOf(deploy).startCommand),
  };
}

function readNixpacks({ phases, start }: Record<string, unknown>) {
  const { cmds } = recordOf(recordOf(phases).build);
  const given = Array.isArray(cmds) ? cmds.map(filled) : [];
  const commands = given.filter((command) => command !== null && command !== '...');
  return {
    buildCommand: commands.length > 0 ? commands.join(' && ') : null,
    startCommand: filled(recordOf(start).cmd),
  };
}

function readNetlify({ build, redirects }: Record<string, unknown>, { rootDirectory }: Parameters<Reader>[1]) {
  const about = recordOf(build);
  const base = folderOf(about.base);
  return {
    buildCommand: filled(about.command),
    publishDirectory: withoutBase(pathOf(about.publish), base),
    rootDirectory: rootDirectory === '' && base !== '' ? base : null,
    singlePage:
      Array.isArray(redirects) &&
      redirects.some((rule) => isRecord(rule) && rule.from === '/*' && rule.status === 200 && toIndex(rule)),
  };
}

/** Netlify's setting `publish` should be relative to `base`, but in many projects it is relative to the repository. */
function withoutBase(path: string | null, base: string): string | null {
  return base !== '' && path?.startsWith(`${base}/`) ? path.slice(base.length + 1) : path;
}

function readVercel({ buildCommand, outputDirectory, rewrites, routes }: Record<string, unknown>) {
  const rules = [rewrites, routes].flatMap((list) => (Array.isArray(list) ? list.filter(isRecord) : []));
  return {
    buildCommand: filled(buildCommand),
    publishDirectory: pathOf(outputDirectory),
    singlePage: rules.some(toIndex),
  };
}

function toIndex(rule: Record<string, unknown>): boolean {
  const target = rule.to ?? rule.destination ?? rule.dest;
  const from = rule.from ?? rule.source ?? rule.src;
  const anything = typeof from === 'string' && /[*(:]/.test(from) && !/^\/api\b/.test(from);
  return anything && (target === '/index.html' || target === 'index.html' || target === '/');
}

function folderOf(value: unknown): string {
  return pathOf(value) ?? '';
}

/** Returns a path without slashes at its ends; null for unusable values, such as a path with `..`. */
function pathOf(value: unknown): string | null {
  const text = filled(value);
  if (text === null || text.length > 512) return null;
  const parts = text.split('/').filter((part) => part !== '' && part !== '.');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: paths with control characters are rejected
  return parts.includes('..') || /[\\\u0000-\u001f]/.test(text) ? null : parts.join('/');
}

import type { HookProvider } from '../../../shared/hooks/model.js';
import { parseSshAddress } from '../../../shared/ssh/model.js';

/** The URL of a git host's API, and the path of the repository on that host. */
export interface ForgeAddress {
  apiUrl: string;
  project: string;
}

export type Forge = Exclude<HookProvider, 'generic'>;

/** The path of each git host's API relative to its base URL. GitHub's public API is at another host. */
const API_PATHS: Readonly<Record<Forge, string>> = { github: '/api/v3', gitlab: '/api/v4', gitea: '/api/v1' };
const PUBLIC_APIS: Readonly<Record<string, string>> = {
  'github.com': 'https://api.github.com',
  'www.github.com': 'https://api.github.com',
  'ssh.github.com': 'https://api.github.com',
  'altssh.gitlab.com': 'https://gitlab.com/api/v4',
};

/** Derives a git host's API URL and the repository's path. Returns null if one of them cannot be derived. */
export function forgeAddress(forge: Forge, repository: string, apiUrl?: string): ForgeAddress | null {
  const ssh = parseSshAddress(repository);
  if (ssh === null && !URL.canParse(repository)) return null;
  const url = new URL(ssh?.url ?? repository);
  const given = apiUrl?.replace(/\/+$/, '');
  const path = url.pathname.split('/').filter((part) => part !== '');
  const last = path.pop()?.replace(/\.git$/, '');
  if (!last || path.length === 0) return null;
  const all = [...path, last].map(decoded);
  if (all.some((part) => part === null || part === '.' || part === '..' || /[/\\]/.test(part))) return null;
  const parts = all as string[];
  // GitLab groups can be nested. So only the API's URL shows how many leading parts of the path precede the groups.
  const root = forge === 'gitlab' ? rootOf(given, parts) : parts.slice(0, -2);
  const project = parts.slice(root.length).join('/');
  if (given !== undefined) return { apiUrl: given, project };
  if (url.protocol === 'file:' || url.hostname === '') return null;
  const host = url.hostname.toLowerCase();
  const known = PUBLIC_APIS[host];
  if (known !== undefined) return { apiUrl: known, project };
  const origin = ssh === null ? url.origin : `https://${host}`;
  const prefix = root.map((part) => `/${encodeURIComponent(part)}`).join('');
  return { apiUrl: origin + prefix + API_PATHS[forge], project };
}

function rootOf(apiUrl: string | undefined, parts: readonly string[]): string[] {
  if (apiUrl === undefined || !URL.canParse(apiUrl)) return [];
  const prefix = new URL(apiUrl).pathname
    .replace(/\/api\/v4$/, '')
    .split('/')
    .filter((part) => part !== '');
  return prefix.length < parts.length - 1 && prefix.every((part, i) => part === parts[i]) ? prefix : [];
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

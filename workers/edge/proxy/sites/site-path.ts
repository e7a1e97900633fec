import { realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { printable } from '../../rules/apply-rules.js';

export type SitePath =
  /** `path` is relative to the folder. */
  | { type: 'file'; path: string }
  /** `location` is a folder's path with the final slash that the request lacked, or the base path of the site. */
  | { type: 'redirect'; location: string; isTemporary?: true }
  | { type: 'missing' }
  | { type: 'invalid' };

const MISSING: SitePath = { type: 'missing' };
const INVALID: SitePath = { type: 'invalid' };

/** These files are not published. */
const RULE_FILES: ReadonlySet<string> = new Set(['_redirects', '_headers']);

/**
 * Finds the file for a request target. `root` must have no symlinks in its path. Files outside `root` are never found,
 * neither through `..` in any encoding nor through symlinks. Dotfiles are never found, except `.well-known`.
 */
export async function findSitePath(root: string, target: string, base = ''): Promise<SitePath> {
  const [pathname = '/', ...query] = target.split('?');
  if (base !== '' && (pathname === '/' || pathname === base)) {
    return { type: 'redirect', location: withQuery(`${base}/`, query), isTemporary: true };
  }
  if (base !== '' && pathname.startsWith(`${base}/`)) {
    const found = await findSitePath(root, target.slice(base.length));
    return found.type === 'redirect' ? { ...found, location: `${base}${found.location}` } : found;
  }
  const parts = decodeParts(pathname);
  if (parts === null) return INVALID;
  if (parts.some((part) => part.startsWith('.') && part !== '.well-known')) return MISSING;
  const path = parts.join('/');
  if (RULE_FILES.has(path)) return MISSING;
  const kind = await kindWithin(root, path);
  if (kind === 'file') return pathname.endsWith('/') ? MISSING : { type: 'file', path };
  if (kind === null) return page(root, path);
  const index = path === '' ? 'index.html' : `${path}/index.html`;
  if ((await kindWithin(root, index)) !== 'file') return path === '' ? MISSING : page(root, path);
  if (pathname.endsWith('/')) return { type: 'file', path: index };
  const location = `/${parts.map(encodeURIComponent).join('/')}/`;
  return { type: 'redirect', location: withQuery(location, query) };
}

function withQuery(location: string, query: readonly string[]): string {
  return query.length > 0 ? `${location}?${printable(query.join('?'))}` : location;
}

/** Site generators write links such as `/about` for about.html. */
async function page(root: string, path: string): Promise<SitePath> {
  const name = `${path}.html`;
  return (await kindWithin(root, name)) === 'file' ? { type: 'file', path: name } : MISSING;
}

/** Returns null if a part is `..`, cannot be decoded, or contains a separator or a NUL. */
function decodeParts(pathname: string): string[] | null {
  try {
    const parts = pathname.split('/').map(decodeURIComponent);
    if (parts.some((part) => part === '..' || /[/\\\0]/.test(part))) return null;
    return parts.filter((part) => part !== '' && part !== '.');
  } catch {
    return null;
  }
}

/** Returns the type of a path; null if it does not exist or is outside the folder. */
export async function kindWithin(root: string, path: string): Promise<'file' | 'directory' | null> {
  try {
    const real = await realpath(join(root, path));
    const inside = relative(root, real);
    if (inside === '..' || inside.startsWith(`..${sep}`)) return null;
    const stats = await stat(real);
    if (stats.isFile()) return 'file';
    return stats.isDirectory() ? 'directory' : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG' || code === 'ELOOP';
}

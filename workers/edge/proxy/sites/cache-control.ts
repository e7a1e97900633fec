import type { ServiceConfiguration } from '../../../../shared/services/configuration.js';

export const REVALIDATE = 'no-cache';
const SHORT = 'public, max-age=3600';
const FOREVER = 'public, max-age=31536000, immutable';

/** Returns the `Cache-Control` value for a file. */
export function cacheControl(profile: ServiceConfiguration['cacheProfile'], path: string): string {
  if (profile === 'none') return REVALIDATE;
  if (hasHashedName(path)) return FOREVER;
  return profile === 'all' ? SHORT : REVALIDATE;
}

/**
 * Returns true for a name with a content hash, as in `app-DiwrgTda.js`. Browsers keep such a file for a year, so a
 * doubtful name does not match.
 */
export function hasHashedName(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const match =
    /[.\-_]([A-Za-z0-9_-]{8}|[0-9a-f]{9,64})(?:\.(?:chunk|bundle|min|module))?\.[a-z0-9]{2,5}(?:\.map)?$/.exec(name);
  const hash = match?.[1];
  if (hash === undefined) return false;
  if (/^[0-9a-f]+$/.test(hash)) return /[0-9]/.test(hash) && /[a-f]/.test(hash);
  return /[0-9][A-Za-z]/.test(hash) && /[A-Z]/.test(hash);
}

import { createRequire } from 'node:module';
import type * as Undici from 'undici';

/**
 * The parts of undici that the edge uses. Its index also loads fetch, caches and WebSockets, which take 8 MiB of each edge. The
 * paths are those of the one version that package.json names.
 */
const load = createRequire(import.meta.url);

export type Pool = Undici.Pool;
export const Pool = load('undici/lib/dispatcher/pool.js') as typeof Undici.Pool;
export const buildConnector = load('undici/lib/core/connect.js') as typeof Undici.buildConnector;
export const errors = load('undici/lib/core/errors.js') as typeof Undici.errors;

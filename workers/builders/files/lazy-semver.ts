import { createRequire } from 'node:module';
import type Semver from 'semver';
import { lazily } from '../../../shared/core/lazily.js';

/**
 * semver is loaded on first use: it takes a fifth of a reading process's start, and most projects do not need it.
 */
export const semver = lazily(() => createRequire(import.meta.url)('semver') as typeof Semver);

import { createRequire } from 'node:module';
import type Semver from 'semver';
import { lazily } from '../../../shared/core/lazily.js';

/** Takes a fifth of the time in which a reading process starts, and most projects name no version. */
export const semver = lazily(() => createRequire(import.meta.url)('semver') as typeof Semver);

import { createRequire } from 'node:module';
import type Semver from 'semver';
import { lazily } from '../../../shared/core/lazily.js';

/** Loaded when it is first used: it takes a fifth of the start of a reading process, and most projects name no version. */
export const semver = lazily(() => createRequire(import.meta.url)('semver') as typeof Semver);

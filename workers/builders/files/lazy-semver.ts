import { createRequire } from 'node:module';
import type Semver from 'semver';
import { lazily } from '../../../shared/core/lazily.js';

/** Loaded on first use. It takes a fifth of a reading process's start, and most projects name no version. */
export const semver = lazily(() => createRequire(import.meta.url)('semver') as typeof Semver);

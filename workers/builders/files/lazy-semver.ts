import { createRequire } from 'node:module';
import type Semver from 'semver';
import { lazily } from '../../../shared/core/lazily.js';

/**
 * The package `semver`, loaded on first use. Loading it takes a fifth of a reader process's start time, and most
 * projects do not need it.
 */
export const semver = lazily(() => createRequire(import.meta.url)('semver') as typeof Semver);

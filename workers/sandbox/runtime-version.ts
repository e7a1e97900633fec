import { basename } from 'node:path';
import semver from 'semver';
import { resultOf } from '../../shared/core/run-limited.js';

const FAULTS = 'CVE-2024-45310, CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881';
/** The versions of runc in which `FAULTS` are mended. */
const MENDED = '>=1.4.0-rc.3 || ~1.3.3 || ~1.2.8';

/** Returns a warning if the runtime is a runc version with known faults; null otherwise. */
export async function runtimeProblem(runtime: string): Promise<string | null> {
  if (basename(runtime) !== 'runc') return null;
  const { stdout } = await resultOf(runtime, ['--version']);
  const version = faultyVersion(stdout);
  if (version === null) return null;
  return `runc ${version} is older than 1.2.8, 1.3.3 and 1.4.0-rc.3, which mend ${FAULTS}: install one of these, or the distribution's patched version`;
}

/** Returns the version in the output of `runc --version`; null if it has the fixes or cannot be parsed. */
export function faultyVersion(text: string): string | null {
  const [, version = null, plain = ''] = /^runc version ((\d+\.\d+\.\d+(?:-rc\.?\d+)?)\S*)/.exec(text) ?? [];
  return semver.satisfies(plain, MENDED, { includePrerelease: true }) ? null : version;
}

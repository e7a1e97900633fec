import { basename } from 'node:path';
import { resultOf } from '../../shared/core/run-limited.js';

const FAULTS = 'CVE-2024-45310, CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881';

/**
 * Returns a warning if the runtime is a runc version with known faults; null otherwise. A distribution may have fixed
 * an older version without changing its number.
 */
export async function runtimeProblem(runtime: string): Promise<string | null> {
  if (basename(runtime) !== 'runc') return null;
  const { stdout } = await resultOf(runtime, ['--version']);
  const version = faultyVersion(stdout);
  if (version === null) return null;
  return `runc ${version} is older than 1.2.8, 1.3.3 and 1.4.0-rc.3, which mend ${FAULTS}: install one of these, or the distribution's patched version`;
}

/** Returns the version in the output of `runc --version`; null if it has the fixes or cannot be parsed. */
export function faultyVersion(text: string): string | null {
  const found = /^runc version ((\d+)\.(\d+)\.(\d+)(?:-rc\.?(\d+))?\S*)/.exec(text);
  if (found === null) return null;
  const [, version = '', ...numbers] = found;
  const [major = 0, minor = 0, patch = 0, candidate = Number.POSITIVE_INFINITY] = numbers.map((part) =>
    part === undefined ? undefined : Number(part),
  );
  const isMended =
    major > 1 ||
    minor > 4 ||
    (minor === 4 && (patch > 0 || candidate >= 3)) ||
    (minor === 3 && patch >= 3) ||
    (minor === 2 && patch >= 8);
  return isMended ? null : version;
}

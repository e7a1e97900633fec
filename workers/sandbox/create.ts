import { createHash } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import type { Logger } from '../../shared/log.js';
import { detectCgroups } from './cgroup.js';
import { strongest } from './detect.js';
import { HostSandbox } from './host-sandbox.js';
import type { Sandbox, SandboxLevel } from './sandbox.js';
import { isRoot } from './users.js';

export interface SandboxOptions {
  log: Logger;
  /** DATA_DIR: hidden from every command; its path tells this platform's processes from those of another one. */
  dataDir: string;
  /** Takes this level instead of the strongest; throws where the host does not have it. */
  level?: SandboxLevel;
}

/** Finds out by trying what this host allows, and makes the strongest sandbox of it. */
export async function createSandbox({ log, dataDir, level }: SandboxOptions): Promise<Sandbox> {
  await mkdir(dataDir, { recursive: true });
  const real = await realpath(dataDir);
  const token = createHash('sha256').update(real).digest('hex').slice(0, 16);
  const explain = (why: string) => log.warn(`memory, processes and cpu are not limited by control groups: ${why}`);
  const wanted = process.platform === 'linux' && isRoot() && level !== 'none';
  const cgroups = wanted ? await detectCgroups(`ranvier-${token}`, explain) : null;
  return strongest(real, log, (host) => new HostSandbox({ log, dataDir: real, token, host, cgroups }), level);
}

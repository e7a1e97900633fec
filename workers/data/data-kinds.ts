import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataKind } from '../../shared/services/model.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { USUAL_PATH } from '../sandbox/sandbox-plan.js';
import { isRoot } from '../sandbox/service-users.js';

const MACHINES = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

export interface HostServers {
  kinds: DataKind[];
  /** The path of redis-server or valkey-server; null if the host has neither. */
  redis: string | null;
}

export async function findHostServers({ level }: Pick<Sandbox, 'level'>): Promise<HostServers> {
  const redis = await findRedis();
  // PostgreSQL refuses to run as root, and at level `none` commands run as the platform's own user.
  const postgres = MACHINES.includes(`${process.platform}-${process.arch}`) && !(isRoot() && level === 'none');
  const kinds: DataKind[] = [];
  if (postgres) kinds.push('postgres');
  if (redis !== null) kinds.push('redis');
  return { kinds, redis };
}

async function findRedis(): Promise<string | null> {
  for (const folder of USUAL_PATH) {
    for (const name of ['redis-server', 'valkey-server']) {
      const path = join(folder, name);
      const found = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (found) return path;
    }
  }
  return null;
}

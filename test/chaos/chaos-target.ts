import { join } from 'node:path';
import type { ReplicaRow } from '../../workers/replicas/rows.js';
import type { Platform } from '../support/platform.js';
import type { PlatformProcess } from '../support/processes.js';
import type { Files } from '../support/repositories.js';
import { type Entry, listFolder } from './entries.js';
import type { Failure } from './load.js';

/** A fault that only some targets can have. */
export interface TargetFault {
  readonly kind: string;
  strike(position: number, durationMs: number): Promise<void>;
}

/** The target of a run: a platform, and the faults and checks that only this kind of platform has. */
export interface ChaosTarget {
  readonly platform: Platform;
  /** A small application that answers with the id of its deployment. */
  readonly app: Files;
  readonly configuration: Record<string, unknown>;
  readonly faults: readonly TargetFault[];
  startWorker(): Promise<PlatformProcess>;
  excuses(failure: Failure): boolean;
  books(): Promise<Entry[]>;
  stop(): Promise<void>;
}

/** Returns the ids of the replicas that run or should run. */
export async function ownedReplicas({ database }: Platform): Promise<string[]> {
  const rows = await database.db<ReplicaRow>('replicas').whereNot({ state: 'stopped' }).select('id');
  return rows.map((row) => row.id);
}

/** Finds build folders that builds left behind, on all hosts. */
export async function leftBuildFolders(dataDirs: readonly string[]): Promise<Entry> {
  const left = await Promise.all(dataDirs.map((folder) => listFolder(join(folder, 'builds'))));
  return { what: 'build folders left', counted: 0, wrong: left.flat() };
}

export const SERVER: Files = {
  'server.js': `
    const server = require('node:http').createServer((request, response) =>
      response.end(request.url === '/deployment' ? process.env.RANVIER_DEPLOYMENT_ID : 'ok'));
    server.listen(process.env.PORT, () => console.log('listening'));
    process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections(); });
  `,
};

/** Long timeouts, because the slowness of the machine is not a fault to test. */
export const PATIENCE = { STOP_GRACE_SECONDS: '3', RELEASE_TIMEOUT_SECONDS: '300' };

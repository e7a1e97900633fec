import { join } from 'node:path';
import type { ReplicaRow } from '../../workers/replicas/rows.js';
import type { Files } from '../support/apps.js';
import type { Platform } from '../support/platform.js';
import type { PlatformProcess } from '../support/processes.js';
import { type Entry, listFolder } from './entries.js';
import type { Failure } from './load.js';

/** A fault that not every ground has. */
export interface GroundFault {
  readonly kind: string;
  /** Strikes one of what there is, by position; resolves when it has been mended, `durationMs` later. */
  strike(position: number, durationMs: number): Promise<void>;
}

/** Where a run takes place: a whole platform, the faults only it has, and the pages of the books only it can fill. */
export interface Ground {
  readonly platform: Platform;
  /** An application that says which deployment it is, built and started in a moment. */
  readonly app: Files;
  /** Of every service. */
  readonly configuration: Record<string, unknown>;
  readonly faults: readonly GroundFault[];
  startWorker(): Promise<PlatformProcess>;
  /** Whether the request that failed may be one that a machine took with it. */
  excuses(failure: Failure): boolean;
  books(): Promise<Entry[]>;
  stop(): Promise<void>;
}

/** Ids of the replicas that run, or are to. */
export async function ownedReplicas({ database }: Platform): Promise<string[]> {
  const rows = await database.db<ReplicaRow>('replicas').whereNot({ state: 'stopped' }).select('id');
  return rows.map((row) => row.id);
}

/** Of builds that have ended, on every host. */
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

/** A machine that is too slow for the load is none of the faults. */
export const PATIENCE = { STOP_GRACE_SECONDS: '3', RELEASE_TIMEOUT_SECONDS: '300' };

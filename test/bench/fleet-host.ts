import { randomBytes } from 'node:crypto';
import { setInterval as every } from 'node:timers/promises';
import type { LogLine } from '../../shared/logs/model.js';
import type { FaultWatch } from '../../workers/deploy/fault-watch.js';
import { loadReleaseSpec } from '../../workers/releases/release-spec.js';
import type { ReplicaRow } from '../../workers/replicas/rows.js';
import { claimReplica } from '../../workers/replicas/start-store.js';
import { recordReady, recordStopped, replicasOfHost } from '../../workers/replicas/store.js';
import type { ReplicaController, ReplicaHost } from '../../workers/runtime/replica-host.js';
import { ReplicaRuntime } from '../../workers/runtime/replica-runtime.js';
import type { WorkerCore, WorkerHost } from '../../workers/start-worker.js';
import { MANIFEST } from '../support/fixtures.js';
import { COMMIT } from '../support/workshop.js';

const LINE = 'GET /products/1234 200 in 12 ms '.padEnd(130, 'x');
const FLUSH_MS = 1000;

export interface FleetLoad {
  /** Lines in a second for each worker, while `printing`. */
  lines: number;
  printing: boolean;
}

/** Returns a host whose sources, builders and replicas do nothing. Everything else is the real worker. */
export function openIdleHost(core: WorkerCore, faults: FaultWatch, load: FleetLoad): WorkerHost {
  const { db, keyring, host } = core;
  const hostId = host.id;
  const nothing = async () => 0;
  const sandbox = { level: 'none', network: null, allNetworks: null } as WorkerHost['remote']['sandbox'];
  const loadRelease = (deploymentId: string, runId: string | null) => loadReleaseSpec(db, keyring, deploymentId, runId);
  const remote = { ...core, sandbox, loadRelease };
  const checks = { add: () => undefined };
  void print(core, load);
  return {
    remote,
    faults,
    source: { heads: async () => new Map(), sweep: nothing } as unknown as WorkerHost['source'],
    origins: { resolve: async () => ({ sha: COMMIT, message: 'Change it', description: 'Deploys a commit' }) },
    builder: {
      build: async () => ({ digest: randomBytes(32).toString('hex'), sizeBytes: 2048, manifest: MANIFEST }),
      sweep: nothing,
    },
    images: { has: async () => true, sweep: nothing },
    toolchains: { restore: async (names) => [...names], sweep: nothing },
    runtime: new ReplicaRuntime({ ...core, hostId, loadRelease, checks }, new IdleHost(core)),
    dataBuilder: { build: () => Promise.reject(new Error('no databases here')) },
    data: { hostId, removeVolumes: nothing, removeRestoreLeftovers: nothing } as unknown as WorkerHost['data'],
    backups: { sandbox } as WorkerHost['backups'],
    abilities: {
      network_isolation: false,
      mounts_volumes: false,
      runs_images: false,
      measures_usage: true,
      enters_replicas: false,
      data_kinds: [],
    },
  };
}

export const FIRST_PORT = 10_000;

/** Replicas without processes: a claimed one is ready, and a stopped one has ended. */
class IdleHost implements ReplicaHost {
  readonly pollMs = 500;
  readonly isMeasuredByAll = false;
  readonly #core: WorkerCore;
  #port = 40_000;

  constructor(core: WorkerCore) {
    this.#core = core;
  }

  controller(): ReplicaController {
    return {
      nextCheckAt: Number.POSITIVE_INFINITY,
      reconcile: (row) => this.#reconcile(row),
      isIdle: ({ desired, state }) => desired === 'running' && state === 'ready',
      isWatched: () => true,
    };
  }

  async #reconcile(row: ReplicaRow): Promise<void> {
    const { db } = this.#core;
    if (row.desired === 'stopped') await recordStopped(db, row);
    else if (row.state === 'pending' && (await claimReplica(db, row, this.#port++)) === 'claimed')
      await recordReady(db, row);
  }

  async sweep(): Promise<void> {}

  async usage() {
    return { cpuSeconds: process.uptime() / 10, memoryBytes: 64 * 1024 * 1024 };
  }

  async lastOutput(): Promise<string[]> {
    return [];
  }
}

async function print({ db, logs, host, log }: WorkerCore, load: FleetLoad): Promise<void> {
  let place = 0;
  for await (const _ of every(FLUSH_MS, undefined, { ref: false })) {
    if (!load.printing || load.lines === 0) continue;
    try {
      const rows = (await replicasOfHost(db, host.id)).filter((row) => row.state === 'ready');
      const row = rows[place++ % rows.length];
      if (row === undefined) continue;
      const timestamp = new Date().toISOString();
      const lines = Array.from({ length: load.lines }, (): LogLine => ({ level: 'info', message: LINE, timestamp }));
      const batch = { serviceId: row.service_id, deploymentId: row.deployment_id, source: 'runtime' as const, lines };
      await db.transaction((trx) => logs.append(batch, trx));
    } catch (error) {
      log.warn({ err: error }, 'lines were not stored');
    }
  }
}

import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/client.js';
import { errorMessage } from '../../shared/core/errors.js';
import { isDataKind } from '../../shared/services/model.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { recordChecked, recordReady, recordUnhealthy, wasStable } from '../replicas/store.js';
import type { CheckRecorder } from './check-recorder.js';
import { checkHealth } from './health-check.js';
import { replacementDelayMs } from './health-replacement.js';
import { Liveness } from './liveness.js';
import { CHECKS_KEPT, checkTime, decideReadiness, hasSettled } from './readiness.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** A failing check with another answer is recorded this often, in milliseconds. */
const RECORD_MS = 1_000;

/** Checks the server of a data service: '' if it accepts connections, otherwise why not. */
export interface ServerProbe {
  probe(row: ReplicaRow, spec: ReleaseSpec): Promise<string>;
}

/** Runs the HEALTHCHECK of a replica's image. */
export interface ImageProbe {
  /** Forgets earlier checks, because a new attempt to run the replica begins. */
  begin(): void;
  /** Returns why the check does not pass; '' if it does, or if the image has none. */
  trouble(row: ReplicaRow, spec: ReleaseSpec): string;
}

export interface HealthWatchDeps {
  db: Db;
  config: Pick<Config, 'edgeDomain' | 'healthReplaceSeconds'>;
  checks: Pick<CheckRecorder, 'add'>;
}

/** The readiness probe of one replica: runs a check when one is due and records what `decideReadiness` decides. */
export class HealthWatch {
  readonly #db: Db;
  readonly #recorder: Pick<CheckRecorder, 'add'>;
  readonly #config: Pick<Config, 'edgeDomain' | 'healthReplaceSeconds'>;
  readonly #settledMs: number | undefined;
  readonly #probe: ServerProbe | undefined;
  readonly #imageProbe: ImageProbe | undefined;
  readonly #liveness = new Liveness();
  #checks: boolean[] = [];
  #startedAt = 0;
  #nextCheckAt = 0;
  #recordedAt = 0;

  /**
   * `settledMs` is how long a replica without a port must have run, if it is not the usual time. `probe` checks the servers of
   * data services, `imageProbe` what an image's HEALTHCHECK says.
   */
  constructor(
    { db, config, checks }: HealthWatchDeps,
    {
      settledMs,
      probe,
      imageProbe,
    }: { settledMs?: number | undefined; probe?: ServerProbe | undefined; imageProbe?: ImageProbe } = {},
  ) {
    this.#db = db;
    this.#recorder = checks;
    this.#config = config;
    this.#settledMs = settledMs;
    this.#probe = probe;
    this.#imageProbe = imageProbe;
  }

  /** When the next check is due, in milliseconds since the epoch. */
  get nextCheckAt(): number {
    return this.#nextCheckAt;
  }

  /** Forgets earlier checks, because a new attempt to run the replica begins. */
  begin(): void {
    this.#checks = [];
    this.#startedAt = Date.now();
    this.#nextCheckAt = 0;
    this.#liveness.begin();
    this.#imageProbe?.begin();
  }

  /**
   * Runs a check if one is due. `ownsPort` resolves to false if another process listens on the replica's port; the check
   * then fails without a request to it. `own` is the port as the application knows it.
   */
  async check(
    row: ReplicaRow,
    spec: ReleaseSpec,
    ownsPort: (port: number) => Promise<boolean>,
    own = row.port,
  ): Promise<void> {
    if (Date.now() < this.#nextCheckAt) return;
    const answer = (await this.#trouble(row, spec, ownsPort, own)) || (this.#imageProbe?.trouble(row, spec) ?? '');
    this.#checks = [...this.#checks, answer === ''].slice(-CHECKS_KEPT);
    const { state, port } = row;
    const { verdict, nextCheckMs } = decideReadiness({
      state,
      port,
      checks: this.#checks,
      upMs: Date.now() - this.#startedAt,
    });
    if (verdict === 'ready') await recordReady(this.#db, row);
    else if (verdict === 'unhealthy') {
      const delayMs = replacementDelayMs(
        this.#config.healthReplaceSeconds * 1000,
        wasStable(row, new Date()) ? 0 : row.replacements,
      );
      await recordUnhealthy(this.#db, row, { answer, replaceAt: new Date(Date.now() + delayMs) });
    } else if (row.ready_at !== null) await this.#recordUnchanged(row, answer);
    this.#nextCheckAt = checkTime(Date.now(), nextCheckMs);
  }

  async #recordUnchanged(row: ReplicaRow, answer: string): Promise<void> {
    if (answer === row.health_answer) {
      this.#recorder.add(row);
      return;
    }
    const now = Date.now();
    if (now - this.#recordedAt < RECORD_MS) return;
    this.#recordedAt = now;
    await recordChecked(this.#db, row, answer);
  }

  /** Why the replica does not pass the check; '' if it passes. */
  async #trouble(
    row: ReplicaRow,
    spec: ReleaseSpec,
    ownsPort: (port: number) => Promise<boolean>,
    own: number | null,
  ): Promise<string> {
    const { address, port } = row;
    if (port === null)
      return hasSettled(this.#startedAt, Date.now(), this.#settledMs) ? '' : 'it has just been started';
    if (!(await ownsPort(port))) return `its process does not listen on port ${own}`;
    if (isDataKind(spec.kind) && this.#probe !== undefined) {
      return this.#probe.probe(row, spec).catch((error: unknown) => errorMessage(error));
    }
    const host = `${spec.slug}.${this.#config.edgeDomain}`;
    const { healthCheckPath: path } = spec.configuration;
    const health = await checkHealth({ address, port, path, host });
    if (!health.healthy) return health.answer;
    // Only the applications of web services are known to speak HTTP.
    return path === '' && spec.kind === 'web' ? this.#liveness.observe({ address, port, host }) : '';
  }
}

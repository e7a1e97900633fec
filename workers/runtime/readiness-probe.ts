import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { isDataKind } from '../../shared/services/model.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { recordChecked, recordReady, recordUnhealthy, wasStable } from '../replicas/store.js';
import type { CheckRecorder } from './check-recorder.js';
import { CHECKS_KEPT, checkTime, decideReadiness, hasSettled } from './decide-readiness.js';
import { HangDetector } from './hang-detector.js';
import { checkHealth } from './health-check.js';
import { replacementDelayMs } from './plan-replacements.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** Minimum interval between database writes for checks that change only a replica's failure reason. */
const RECORD_MS = 1_000;

export interface ServerProbe {
  /** Resolves to '' if the server accepts connections, otherwise to the reason. */
  probe(row: ReplicaRow, spec: ReleaseSpec): Promise<string>;
  silentMs(replicaId: string): number;
}

export interface ImageProbe {
  /** Returns why the image's HEALTHCHECK fails; '' if it passes, or if the image has no HEALTHCHECK. */
  trouble(row: ReplicaRow, spec: ReleaseSpec): string;
}

export interface ProbeDeps {
  db: Db;
  config: Pick<Config, 'edgeDomain' | 'healthReplaceSeconds'>;
  checks: Pick<CheckRecorder, 'add'>;
}

interface ProbeOptions {
  settledMs?: number;
  probe?: ServerProbe | undefined;
  imageProbe?: ImageProbe;
}

/** Checks one attempt of a replica, and records what `decideReadiness` decides. */
export class ReadinessProbe {
  readonly #deps: ProbeDeps;
  readonly #options: ProbeOptions;
  readonly #hangs = new HangDetector();
  #checks: boolean[] = [];
  readonly #startedAt = Date.now();
  #nextCheckAt = 0;
  #recordedAt = 0;

  constructor(deps: ProbeDeps, options: ProbeOptions = {}) {
    this.#deps = deps;
    this.#options = options;
  }

  /** In milliseconds since the epoch. */
  get nextCheckAt(): number {
    return this.#nextCheckAt;
  }

  /** Returns true if a database server must be restarted because it does not respond. */
  isServerSilent({ id, ready_at }: ReplicaRow): boolean {
    return (
      ready_at !== null && (this.#options.probe?.silentMs(id) ?? 0) >= this.#deps.config.healthReplaceSeconds * 1000
    );
  }

  /**
   * Runs a check if one is due. If `ownsPort` resolves to false, the check fails without a request. `own` is the
   * application's own port, which failure messages name.
   */
  async check(
    row: ReplicaRow,
    spec: ReleaseSpec,
    ownsPort: (port: number) => Promise<boolean>,
    own = row.port,
  ): Promise<void> {
    if (Date.now() < this.#nextCheckAt) return;
    const answer =
      (await this.#trouble(row, spec, ownsPort, own)) || (this.#options.imageProbe?.trouble(row, spec) ?? '');
    this.#checks = [...this.#checks, answer === ''].slice(-CHECKS_KEPT);
    const { state, port } = row;
    const { verdict, nextCheckMs } = decideReadiness({
      state,
      port,
      checks: this.#checks,
      upMs: Date.now() - this.#startedAt,
    });
    if (verdict === 'ready') await recordReady(this.#deps.db, row);
    else if (verdict === 'unhealthy') {
      const delayMs = replacementDelayMs(
        this.#deps.config.healthReplaceSeconds * 1000,
        wasStable(row, new Date()) ? 0 : row.replacements,
      );
      await recordUnhealthy(this.#deps.db, row, { answer, replaceAt: new Date(Date.now() + delayMs) });
    } else if (row.ready_at !== null) await this.#recordUnchanged(row, answer);
    this.#nextCheckAt = checkTime(Date.now(), nextCheckMs);
  }

  async #recordUnchanged(row: ReplicaRow, answer: string): Promise<void> {
    if (answer === row.health_answer) {
      this.#deps.checks.add(row);
      return;
    }
    const now = Date.now();
    if (now - this.#recordedAt < RECORD_MS) return;
    this.#recordedAt = now;
    await recordChecked(this.#deps.db, row, answer);
  }

  async #trouble(
    row: ReplicaRow,
    spec: ReleaseSpec,
    ownsPort: (port: number) => Promise<boolean>,
    own: number | null,
  ): Promise<string> {
    const { address, port } = row;
    if (port === null)
      return hasSettled(this.#startedAt, Date.now(), this.#options.settledMs) ? '' : 'it has just been started';
    if (!(await ownsPort(port))) return `its process does not listen on port ${own}`;
    if (isDataKind(spec.kind) && this.#options.probe !== undefined) {
      return this.#options.probe.probe(row, spec).catch((error: unknown) => errorMessage(error));
    }
    const host = `${spec.slug}.${this.#deps.config.edgeDomain}`;
    const { healthCheckPath: path } = spec.configuration;
    const health = await checkHealth({ address, port, path, host });
    if (!health.healthy) return health.answer;
    // Other kinds of services may not speak HTTP.
    return path === '' && spec.kind === 'web' ? this.#hangs.observe({ address, port, host }) : '';
  }
}

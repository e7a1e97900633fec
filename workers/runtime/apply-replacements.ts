import { errorMessage } from '../../shared/core/errors.js';
import {
  abandonReplacement,
  beginReplacement,
  dropReplacement,
  finishReplacement,
  restartInPlace,
} from '../replicas/replacement-store.js';
import type { ReplicaRow } from '../replicas/rows.js';
import {
  planReplacements,
  type ReplacementAction,
  replacementDelayMs,
  replacementMessage,
} from './plan-replacements.js';
import type { ReplicaRuntimeDeps } from './replica-runtime-deps.js';

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'config' | 'logs' | 'log'>;

/** Added to the grace period of a replica that is restarted in its place, in milliseconds. */
const STOP_SLACK_MS = 1_000;

/** Applies what `planReplacements` decides for the replicas of a host. The service's log explains each action. */
export class Replacer {
  readonly #deps: Deps;
  readonly #hasRoom: (row: ReplicaRow) => Promise<boolean>;

  constructor(deps: Deps, hasRoom: (row: ReplicaRow) => Promise<boolean>) {
    this.#deps = deps;
    this.#hasRoom = hasRoom;
  }

  async pass(all: readonly ReplicaRow[]): Promise<void> {
    // A volume never has a second server. Its controller restarts a server that hangs.
    const rows = all.filter((row) => row.volume_id === null);
    const { releaseTimeoutSeconds } = this.#deps.config;
    const now = Date.now();
    const cramped = await this.#cramped(rows, now);
    const hasRoom = (row: ReplicaRow) => !cramped.has(row.id);
    const options = { now, startMs: releaseTimeoutSeconds * 1000, hasRoom };
    for (const action of planReplacements(rows, options)) {
      try {
        await this.#apply(action);
      } catch (error) {
        const { id } = action.type === 'drop' ? action.successor : action.failing;
        this.#deps.log.warn({ replica: id, err: error }, `a replica was not replaced: ${errorMessage(error)}`);
      }
    }
  }

  /** Ids of the replicas that are due for a replacement and have no room for another one beside them. */
  async #cramped(rows: readonly ReplicaRow[], now: number): Promise<Set<string>> {
    const cramped = new Set<string>();
    for (const row of rows) {
      const isDue = row.replace_at !== null && row.replace_at.getTime() <= now && row.desired === 'running';
      if (isDue && !(await this.#fits(row))) cramped.add(row.id);
    }
    return cramped;
  }

  /** True if a second replica fits beside this one. False also if that is not known, for instance if its release cannot be read. */
  async #fits(row: ReplicaRow): Promise<boolean> {
    try {
      return await this.#hasRoom(row);
    } catch (error) {
      this.#deps.log.warn(
        { replica: row.id, err: error },
        `a replica is not replaced beside it: ${errorMessage(error)}`,
      );
      return false;
    }
  }

  async #apply(action: ReplacementAction): Promise<void> {
    const { db, config, logs } = this.#deps;
    const now = Date.now();
    const retryMs =
      action.type === 'abandon'
        ? replacementDelayMs(config.healthReplaceSeconds * 1000, action.failing.replacements + 1)
        : 0;
    const log = async (trx: Parameters<typeof logs.append>[1]) => {
      if (action.type === 'drop') return;
      const { service_id: serviceId, deployment_id: deploymentId } = action.failing;
      const message = replacementMessage(action, now, retryMs);
      const level = action.type === 'finish' ? ('info' as const) : ('warn' as const);
      const lines = [{ level, message, timestamp: new Date(now).toISOString() }];
      await logs.append({ serviceId, deploymentId, source: 'system', lines }, trx);
    };
    switch (action.type) {
      case 'begin':
        await beginReplacement(db, action.failing, log);
        return;
      case 'restartInPlace': {
        const startAt = new Date(now + config.stopGraceSeconds * 1000 + STOP_SLACK_MS);
        await restartInPlace(db, action.failing, startAt, log);
        return;
      }
      case 'finish':
        await finishReplacement(db, action.failing, action.successor, log);
        return;
      case 'abandon':
        await abandonReplacement(db, action.failing, action.successor, new Date(now + retryMs), log);
        return;
      case 'drop':
        await dropReplacement(db, action.successor);
        return;
    }
  }
}

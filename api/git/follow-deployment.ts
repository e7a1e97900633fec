import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { isTerminal, type StepName, statusOf, type TerminalState } from '../../shared/deployments/model.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import type { LogLineRow } from '../../shared/logs/model.js';
import { readLogs } from '../resources/logs/read-lines.js';

export interface Followed {
  db: Db;
  serviceId: string;
  deploymentId: string;
  say: (line: string) => void;
  /** Returns true once this process shuts down. The deployment then continues, but is no longer followed. */
  isEnding: () => boolean;
}

export interface FollowedEnd {
  /** `unknown` if this process stopped following before the deployment finished. */
  status: TerminalState | 'unknown';
  error: string;
}

const POLL_INTERVAL_MS = 500;
/** After this much silence a line is printed, because proxies close silent connections after a minute. */
const QUIET_MS = 20_000;
const LINES = 500;
const HOURS = 24;
const WHILE: Readonly<Record<StepName, string>> = {
  queued: 'queued',
  build: 'building',
  release: 'releasing',
  canary: 'canary',
};
const LATEST = new Date(8.64e15);
/**
 * Maximum number of consecutive failed reads. They take at least a minute in total, in which the database may restart.
 */
const MAX_FAILURES = 120;

/** Prints a deployment's steps and log in the pusher's terminal until the deployment finishes. */
export async function followDeployment(followed: Followed): Promise<FollowedEnd> {
  const { say, isEnding } = followed;
  let after = 0;
  let spokenAt = performance.now();
  let waitsFor = '';
  let announced = 0;
  let failures = 0;
  const speak = (line: string) => {
    spokenAt = performance.now();
    say(line);
  };
  while (!isEnding()) {
    try {
      const row = await stateOf(followed);
      const begun = row.steps.map(({ name, startedAt }) => ({ state: WHILE[name], at: new Date(startedAt) }));
      const announce = (until: Date) => {
        for (let step = begun[announced]; step !== undefined && step.at <= until; step = begun[++announced]) {
          speak(`-----> ${step.state}`);
        }
      };
      if (row.blocked_reason !== '' && row.blocked_reason !== waitsFor) speak(`-----> waits: ${row.blocked_reason}`);
      waitsFor = row.blocked_reason;
      // The deployment's state was read before its log. If it is finished, the log is complete, so this read includes
      // its last line.
      for (let more = true; more; ) {
        const { serviceId, deploymentId } = followed;
        const batch = await readLogs(followed.db, { serviceId, deploymentId, hours: HOURS, after, limit: LINES });
        for (const line of batch.lines) {
          announce(line.logged_at);
          speak(show(line));
        }
        after = batch.cursor;
        more = batch.hasMore;
      }
      announce(LATEST);
      if (isTerminal(row.status)) return { status: row.status, error: row.error };
      if (performance.now() - spokenAt > QUIET_MS) speak(`       … still ${statusOf(row.status)}`);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures > MAX_FAILURES) return { status: 'unknown', error: errorMessage(error) };
      if (performance.now() - spokenAt > QUIET_MS) speak('       … the platform cannot read the log at the moment');
    }
    await delay(POLL_INTERVAL_MS);
  }
  return { status: 'unknown', error: '' };
}

type State = Pick<DeploymentRow, 'status' | 'steps' | 'blocked_reason' | 'error'>;

async function stateOf({ db, deploymentId }: Followed): Promise<State> {
  const row = await db<DeploymentRow>('deployments')
    .where({ id: deploymentId })
    .first('status', 'steps', 'blocked_reason', 'error');
  return row ?? { status: 'cancelled', steps: [], blocked_reason: '', error: 'the service was deleted' };
}

/** Marks the platform's own lines with an arrow. */
function show({ source, message }: LogLineRow): string {
  return `${source === 'system' ? '-----> ' : '       '}${message}`;
}

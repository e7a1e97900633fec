import type { BuiltImage } from '../images/model.js';

/**
 * The states of a deployment (specification, States and transitions). The API shows the following four as `releasing`.
 * `prepared`: the release is healthy and waits to go live together with others. `canary`: some visitors get the new
 * release. `withdrawn`: all visitors get the previous release again. `switched`: visitors get the new release, but not
 * every edge has confirmed it.
 */
export const DEPLOYMENT_STATES = [
  'queued',
  'building',
  'releasing',
  'prepared',
  'canary',
  'withdrawn',
  'switched',
  'live',
  'failed',
  'cancelled',
] as const;
export type DeploymentState = (typeof DEPLOYMENT_STATES)[number];

export type DeploymentEvent =
  | { type: 'resolved'; commitSha: string; commitMessage: string }
  /** The image of a rollback exists, so no build is needed. */
  | { type: 'imageFound' }
  /** `image` is null if an interrupted worker had already stored the image. */
  | { type: 'built'; image: BuiltImage | null }
  /** The image is not on this host, so the build must run again. */
  | { type: 'imageMissing' }
  /** The release is healthy. Its route will switch together with those of other deployments. */
  | { type: 'prepared' }
  /** The release is healthy, and a share of the visitors gets it for a limited time. */
  | { type: 'canaryBegun'; percent: number; minutes: number; previousId: string }
  | { type: 'routeSwitched' }
  /** Every edge serves the new release, or the timeout for the edges has expired. */
  | { type: 'edgesConfirmed' };

/**
 * `failed`: a step failed for a reason that the user can fix, or its last attempt failed. `cancelled`: a cancellation
 * was requested, and everything that the deployment had started has stopped.
 */
type EventType = DeploymentEvent['type'] | 'canaryWithdrawn' | 'failed' | 'cancelled';

/** State → event → the next state. */
export const TRANSITIONS = {
  queued: { resolved: 'building', imageFound: 'releasing', failed: 'failed', cancelled: 'cancelled' },
  building: { built: 'releasing', failed: 'failed', cancelled: 'cancelled' },
  releasing: {
    routeSwitched: 'switched',
    prepared: 'prepared',
    canaryBegun: 'canary',
    imageMissing: 'building',
    failed: 'failed',
    cancelled: 'cancelled',
  },
  prepared: { routeSwitched: 'switched', failed: 'failed', cancelled: 'cancelled' },
  canary: { routeSwitched: 'switched', canaryWithdrawn: 'withdrawn', failed: 'failed', cancelled: 'cancelled' },
  withdrawn: { failed: 'failed', cancelled: 'cancelled' },
  // Visitors already get the new release, so the deployment can no longer fail or be cancelled.
  switched: { edgesConfirmed: 'live' },
  live: {},
  failed: {},
  cancelled: {},
} as const satisfies Record<DeploymentState, Partial<Record<EventType, DeploymentState>>>;

export const TERMINAL_STATES = ['live', 'failed', 'cancelled'] as const satisfies readonly DeploymentState[];
export type TerminalState = (typeof TERMINAL_STATES)[number];
export type ActiveState = Exclude<DeploymentState, TerminalState>;

export function isTerminal(state: DeploymentState): state is TerminalState {
  return Object.keys(TRANSITIONS[state]).length === 0;
}

export const DEPLOYMENT_STATUSES = ['queued', 'building', 'releasing', 'live', 'failed', 'cancelled'] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

export function statusOf(state: DeploymentState): DeploymentStatus {
  return DEPLOYMENT_STATUSES.find((status) => status === state) ?? 'releasing';
}

export const DEPLOYMENT_TRIGGERS = [
  'manual',
  'api',
  'create',
  'rollback',
  'clear-cache',
  'commit',
  'schedule',
] as const;
export type DeploymentTrigger = (typeof DEPLOYMENT_TRIGGERS)[number];

export const STEP_NAMES = ['queued', 'build', 'release', 'canary'] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** Times are in ISO 8601. */
export interface StepRecord {
  name: StepName;
  /** The run of the pre-deploy command. Only a `release` step can have one. */
  runId?: string;
  startedAt: string;
  finishedAt: string | null;
}

/** A worker that takes over a deployment resumes with this step. */
export const STEP_OF: Record<ActiveState, StepName> = {
  queued: 'queued',
  building: 'build',
  releasing: 'release',
  prepared: 'release',
  canary: 'canary',
  withdrawn: 'canary',
  switched: 'release',
};

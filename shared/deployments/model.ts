import type { BuiltImage } from '../images/model.js';

/**
 * The deployment's state machine (specification, States and transitions): every state, every event and the next state. Only the
 * engine changes a status, by one of these transitions.
 *
 * `prepared` is internal: the release is healthy and waits for others, with which it goes live. Callers see it as
 * `releasing`.
 * `switched` is internal: visitors see the new release, but not every edge has confirmed it. Callers see it as `releasing`.
 */
export const DEPLOYMENT_STATES = [
  'queued',
  'building',
  'releasing',
  'prepared',
  'switched',
  'live',
  'failed',
  'cancelled',
] as const;
export type DeploymentState = (typeof DEPLOYMENT_STATES)[number];

export type DeploymentEvent =
  /** The queued step found the commit or the image to deploy. */
  | { type: 'resolved'; commitSha: string; commitMessage: string }
  /** The queued step of a rollback found its image: nothing has to be built. */
  | { type: 'imageFound' }
  /** The build step stored an image. `image` is null if an interrupted worker had already stored it. */
  | { type: 'built'; image: BuiltImage | null }
  /** The release step needs an image that is not on this host. */
  | { type: 'imageMissing' }
  /** The release is healthy, and its route moves together with those of other deployments. */
  | { type: 'prepared' }
  /** The release is healthy and the route has moved to it. */
  | { type: 'routeSwitched' }
  /** Every edge serves the new release, or the time limit for the edges has passed. */
  | { type: 'edgesConfirmed' };

/**
 * Every event. `failed`: a step failed with a cause that the person who deployed can remove, or its last try failed.
 * `cancelled`: cancellation was requested, and everything that the deployment started has ended.
 */
type EventType = DeploymentEvent['type'] | 'failed' | 'cancelled';

/** The table of states. An event that is not listed for a state cannot happen in that state. */
export const TRANSITIONS = {
  queued: { resolved: 'building', imageFound: 'releasing', failed: 'failed', cancelled: 'cancelled' },
  building: { built: 'releasing', failed: 'failed', cancelled: 'cancelled' },
  releasing: {
    routeSwitched: 'switched',
    prepared: 'prepared',
    imageMissing: 'building',
    failed: 'failed',
    cancelled: 'cancelled',
  },
  prepared: { routeSwitched: 'switched', failed: 'failed', cancelled: 'cancelled' },
  // Visitors see the new release, so the deployment can only become live.
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

/** The values of `deployment.status` that callers see. */
export const DEPLOYMENT_STATUSES = ['queued', 'building', 'releasing', 'live', 'failed', 'cancelled'] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

export function statusOf(state: DeploymentState): DeploymentStatus {
  return state === 'prepared' || state === 'switched' ? 'releasing' : state;
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

/** The steps in their order; a step's name is what `deployment.steps[].name` shows. */
export const STEP_NAMES = ['queued', 'build', 'release'] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** `deployment.steps[]`. A running step has no end yet. Times are ISO 8601. */
export interface StepRecord {
  name: StepName;
  /** The id of the run that executes the pre-deploy command; only a step `release` may have one. */
  runId?: string;
  startedAt: string;
  finishedAt: string | null;
}

/** The step that a deployment in each state performs. A worker that takes it over resumes with this step. */
export const STEP_OF: Record<ActiveState, StepName> = {
  queued: 'queued',
  building: 'build',
  releasing: 'release',
  prepared: 'release',
  switched: 'release',
};

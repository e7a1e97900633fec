/**
 * The deployment's state machine. Every status change in the platform is one of these transitions and one conditional
 * update (`shared/db/deployments.ts`).
 *
 *   queued ──admitted, claimed──▶ building ──image stored──▶ releasing ──route switched──▶ live
 *     │                              │                           │
 *     └──────────── failed (a cause) or cancelled (cancelRequested) ────────────┘
 */
export const DEPLOYMENT_STATUSES = ['queued', 'building', 'releasing', 'live', 'failed', 'cancelled'] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

export const TERMINAL_STATUSES = ['live', 'failed', 'cancelled'] as const satisfies readonly DeploymentStatus[];
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

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

/** The steps of the pipeline in their order; a step's name is what `deployment.steps[].name` shows. */
export const STEP_NAMES = ['queued', 'build', 'release'] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** `deployment.steps[]`: a step that runs has no end yet. Times are ISO 8601. */
export interface StepRecord {
  name: StepName;
  startedAt: string;
  finishedAt: string | null;
}

const TRANSITIONS: Record<DeploymentStatus, readonly DeploymentStatus[]> = {
  // A rollback has its image already, so it goes from queued to releasing.
  queued: ['building', 'releasing', 'failed', 'cancelled'],
  // Back to building from releasing: the image is not on this host, so it is made again.
  building: ['releasing', 'failed', 'cancelled'],
  releasing: ['live', 'building', 'failed', 'cancelled'],
  live: [],
  failed: [],
  cancelled: [],
};

export function canTransition(from: DeploymentStatus, to: DeploymentStatus): boolean {
  return TRANSITIONS[from].includes(to);
}

/** The statuses from which `to` may be reached: the WHERE of its conditional update. */
export function sourcesOf(to: DeploymentStatus): DeploymentStatus[] {
  return DEPLOYMENT_STATUSES.filter((from) => canTransition(from, to));
}

export function isTerminal(status: DeploymentStatus): status is TerminalStatus {
  return TRANSITIONS[status].length === 0;
}

/** The step a status is in, which is where another worker resumes. */
export function stepOf(status: Exclude<DeploymentStatus, TerminalStatus>): StepName {
  switch (status) {
    case 'queued':
      return 'queued';
    case 'building':
      return 'build';
    case 'releasing':
      return 'release';
  }
}

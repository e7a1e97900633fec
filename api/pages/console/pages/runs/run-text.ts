import type { Run } from '../../api/types.js';

export const RUNS = '/workspaces/{workspaceId}/services/{serviceId}/runs';

export function isOpen({ status }: Run): boolean {
  return status === 'queued' || status === 'running';
}

const TRIGGER_TEXT: Readonly<Record<Run['trigger'], string>> = {
  schedule: 'Scheduled',
  manual: 'Manual run',
  deployment: 'Pre-deploy',
};

/** Describes how a run started and ended: `Started by hand, attempt 2, exit code 3`. */
export function circumstances({ trigger, attempt, exitCode }: Run): string {
  return [
    TRIGGER_TEXT[trigger],
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(exitCode === null || exitCode === 0 ? [] : [`exit code ${exitCode}`]),
  ].join(', ');
}

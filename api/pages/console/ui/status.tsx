import type { Deployment, Run, Service } from '../api/types.js';
import type { Tone } from './tone.js';
import s from './ui.module.css';

export function Glyph({ tone, className = '' }: { tone: Tone; className?: string | undefined }) {
  return (
    <svg
      viewBox="0 0 16 16"
      className={`${s.glyph} ${s[tone]} ${tone === 'busy' ? s.spin : ''} ${className}`}
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      {SHAPES[tone]}
    </svg>
  );
}

const SHAPES = {
  good: <path d="m3 8.5 3.4 3.4L13 5" />,
  bad: <path d="m4 4 8 8m0-8-8 8" />,
  warn: <path d="M8 2.5 14.3 13.5H1.7zM8 7v2.6m0 1.9v.01" strokeWidth="1.6" />,
  busy: <path d="M8 2a6 6 0 1 1-5.7 4.1" />,
  plain: <circle cx="8" cy="8" r="4.5" strokeWidth="1.8" />,
};

export function Status({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span className={`${s.status} ${s[tone]}`}>
      <Glyph tone={tone} />
      {children}
    </span>
  );
}

export function serviceStatus(service: Service): { tone: Tone; text: string } {
  if (service.archived) return { tone: 'plain', text: 'Archived' };
  switch (service.status) {
    case 'deploying':
      return { tone: 'busy', text: service.liveDeploymentId ? 'Deploying (previous release live)' : 'Deploying' };
    case 'failed':
      return { tone: 'bad', text: service.liveDeploymentId ? 'Deploy failed (previous release live)' : 'Failed' };
    case 'live':
      if (service.healthStatus === 'unhealthy') return { tone: 'bad', text: 'Unhealthy' };
      if (service.asleepSince !== undefined) return { tone: 'plain', text: service.frozen ? 'Frozen' : 'Asleep' };
      if (service.healthStatus === 'starting') return { tone: 'busy', text: 'Starting' };
      return { tone: 'good', text: service.kind === 'cron' ? 'Scheduled' : 'Live' };
    default:
      return PLAIN_STATUS[service.status];
  }
}

const DEPLOYMENT: Record<Deployment['status'], { tone: Tone; text: string }> = {
  queued: { tone: 'busy', text: 'Queued' },
  building: { tone: 'busy', text: 'Building' },
  releasing: { tone: 'busy', text: 'Releasing' },
  live: { tone: 'good', text: 'Succeeded' },
  failed: { tone: 'bad', text: 'Failed' },
  cancelled: { tone: 'plain', text: 'Cancelled' },
};

export function deploymentStatus(
  deployment: Deployment,
  liveDeploymentId: string | null,
): { tone: Tone; text: string } {
  if (deployment.id === liveDeploymentId) return { tone: 'good', text: 'Live' };
  if (isUnfinished(deployment) && deployment.cancelRequested) return { tone: 'warn', text: 'Cancelling' };
  if (deployment.status === 'queued' && deployment.blockedReason) return { tone: 'warn', text: 'Waiting' };
  return DEPLOYMENT[deployment.status];
}

export function isUnfinished({ finishedAt }: Pick<Deployment, 'finishedAt'>): boolean {
  return finishedAt === null;
}

export const PLAIN_STATUS: Record<Service['status'], { tone: Tone; text: string }> = {
  not_deployed: { tone: 'plain', text: 'Not deployed' },
  deploying: { tone: 'busy', text: 'Deploying' },
  live: { tone: 'good', text: 'Live' },
  failed: { tone: 'bad', text: 'Failed' },
  suspended: { tone: 'plain', text: 'Suspended' },
  deleting: { tone: 'warn', text: 'Deleting' },
};

export const RUN_STATUS: Record<Run['status'], { tone: Tone; text: string }> = {
  queued: { tone: 'busy', text: 'Queued' },
  running: { tone: 'busy', text: 'Running' },
  succeeded: { tone: 'good', text: 'Succeeded' },
  failed: { tone: 'bad', text: 'Failed' },
  cancelled: { tone: 'plain', text: 'Cancelled' },
  skipped: { tone: 'warn', text: 'Skipped' },
};

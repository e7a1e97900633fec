import { Link } from '@tanstack/react-router';
import { useGet } from '../../api/use-api.js';
import { Loaded, Notice } from '../../ui/states.js';
import { Status, type Tone } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import t from './templates.module.css';

const TONES: Readonly<Record<string, Tone>> = {
  queued: 'busy',
  running: 'busy',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'plain',
};

/** Follows an apply to its end: its steps, and links to the deployments that it waits for. */
export function AppliedCard({
  workspaceId,
  stackName,
  applyId,
}: {
  workspaceId: string;
  stackName: string;
  applyId: string;
}) {
  const query = useGet(
    '/workspaces/{workspaceId}/stacks/{stackName}/applies/{applyId}',
    { path: { workspaceId, stackName, applyId } },
    { working: ({ apply }) => apply.finishedAt === null },
  );
  return (
    <Loaded query={query}>
      {({ apply: { status, error, steps } }) => (
        <section className={`${u.card} ${u.cardBody} ${u.stack}`} aria-label="Apply">
          <Status tone={TONES[status] ?? 'plain'}>{status}</Status>
          {error === '' ? null : <Notice tone="bad">{error}</Notice>}
          <ul className={t.changes}>
            {steps.map(({ op, name, status: state, resourceId, deploymentId }) => (
              <li key={`${op} ${name}`}>
                {op}{' '}
                {resourceId !== null && deploymentId !== null ? (
                  <Link
                    to="/w/$workspaceId/s/$serviceId/d/$deploymentId"
                    params={{ workspaceId, serviceId: resourceId, deploymentId }}
                  >
                    {name}
                  </Link>
                ) : (
                  <strong>{name}</strong>
                )}{' '}
                <span className={u.dim}>{state}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Loaded>
  );
}

import { Link, useParams } from '@tanstack/react-router';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import { deploymentStatus, Glyph, isUnfinished, Status } from '../../ui/status.js';
import { Ago, Duration } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import d from '../deployments/deployments.module.css';
import c from '../shell.module.css';
import { APPLY_STATUS, stepRows } from './apply-text.js';
import { PlanView } from './plan-view.js';
import t from './stacks.module.css';

const APPLY = '/workspaces/{workspaceId}/stacks/{stackName}/applies/{applyId}';

/** One apply: why it failed first, then its steps with their deployments, then what it changes. */
export function ApplyPage() {
  const path = useParams({ from: '/w/$workspaceId/stacks/$stackName/applies/$applyId' });
  const { workspaceId, stackName } = path;
  const query = useGet(APPLY, { path }, { working: ({ apply }) => apply.finishedAt === null });
  return (
    <div className={c.page}>
      <div className={c.head}>
        <h1>Apply of {stackName}</h1>
        <Link to="/w/$workspaceId/stacks/$stackName" params={{ workspaceId, stackName }}>
          Back to the stack
        </Link>
      </div>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={120} />}>
        {({ apply: { steps, changes, deploys, warnings, ...apply } }) => (
          <>
            <Head apply={apply} path={path} />
            {apply.error === '' ? null : (
              <Notice tone="bad" title="The apply failed">
                <div className={d.error}>{apply.error}</div>
                <p>What is done stays. Plan the document again to go on.</p>
              </Notice>
            )}
            {steps.length === 0 ? null : (
              <section className={u.card}>
                <ol className={t.steps} aria-label="Steps">
                  {stepRows(steps, apply.status).map(({ step, text, tone, state }, index) => (
                    <li key={`${index} ${step.op}`}>
                      <Glyph tone={tone} />
                      <span>
                        {text} <strong>{step.name}</strong>
                      </span>
                      {step.deploymentId !== null && step.resourceId !== null ? (
                        <Deploying
                          path={{ workspaceId, serviceId: step.resourceId, deploymentId: step.deploymentId }}
                        />
                      ) : (
                        <span className={u.dim}>{state}</span>
                      )}
                      {step.error === '' ? null : <div className={t.stepError}>{step.error}</div>}
                    </li>
                  ))}
                </ol>
              </section>
            )}
            <section className={`${u.card} ${u.cardBody} ${u.stack}`}>
              <h2>{changes.length === 0 ? 'Nothing was to change' : 'What it changes'}</h2>
              <PlanView changes={changes} warnings={warnings} />
              {deploys.length === 0 ? null : <p>Deploys {deploys.join(', ')}.</p>}
            </section>
          </>
        )}
      </Loaded>
    </div>
  );
}

function Head({
  apply: { status, release, rollbackOf, actor, createdAt, startedAt, finishedAt },
  path,
}: {
  apply: Schemas['StackApply'];
  path: { workspaceId: string; stackName: string; applyId: string };
}) {
  const refusal = useRefusal(path.workspaceId, 'developer');
  const cancel = useWrite(() => post(`${APPLY}/cancel`, { path }));
  const { tone, text } = APPLY_STATUS[status];
  return (
    <div className={c.head}>
      <div className={d.meta}>
        <Status tone={tone}>{text}</Status>
        <span>
          <Ago at={createdAt} />, {actor}
        </span>
        {rollbackOf === null ? null : (
          <Link to="/w/$workspaceId/stacks/$stackName/applies/$applyId" params={{ ...path, applyId: rollbackOf }}>
            Rollback to an earlier apply
          </Link>
        )}
        {release === 'together' ? <span>Goes live together</span> : null}
        {startedAt === null ? null : (
          <span>
            {finishedAt === null ? 'running for' : 'took'} <Duration from={startedAt} to={finishedAt} />
          </span>
        )}
      </div>
      {finishedAt === null ? (
        <Button refusal={refusal} pending={cancel.isPending || cancel.isSuccess} onClick={() => cancel.mutate()}>
          {cancel.isSuccess ? 'Cancelling…' : 'Cancel'}
        </Button>
      ) : null}
      {cancel.error ? <ErrorNotice title="The apply was not cancelled" error={cancel.error} /> : null}
    </div>
  );
}

/** How far the deployment of a step is, with a link to it. */
function Deploying({ path }: { path: { workspaceId: string; serviceId: string; deploymentId: string } }) {
  const { data } = useGet(
    '/workspaces/{workspaceId}/services/{serviceId}/deploys/{deploymentId}',
    { path },
    { working: ({ deployment }) => isUnfinished(deployment) },
  );
  if (data === undefined) return <span className={u.dim}>deployment</span>;
  const { tone, text } = deploymentStatus(data.deployment, null);
  return (
    <Link to="/w/$workspaceId/s/$serviceId/d/$deploymentId" params={path}>
      <Status tone={tone}>{text}</Status>
    </Link>
  );
}

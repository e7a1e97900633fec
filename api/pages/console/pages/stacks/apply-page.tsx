import { Link, useParams } from '@tanstack/react-router';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button, LinkButton } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import { deploymentStatus, Glyph, isUnfinished, RUN_STATUS, Status } from '../../ui/status.js';
import { Ago, Took } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import d from '../deployments/deployments.module.css';
import { Page } from '../page.js';
import c from '../shell.module.css';
import { changesTitle, type StepRow, stepRows } from './apply-text.js';
import { PlanView } from './plan-view.js';
import t from './stacks.module.css';

const APPLY = '/workspaces/{workspaceId}/stacks/{stackName}/applies/{applyId}';

export function ApplyPage() {
  const path = useParams({ from: '/w/$workspaceId/stacks/$stackName/applies/$applyId' });
  const { workspaceId, stackName } = path;
  const query = useGet(APPLY, { path }, { working: ({ apply }) => apply.finishedAt === null });
  // If the apply deletes its stack, its last step also deletes the record of the apply. The API then responds with 404.
  if (query.error?.status === 404) {
    return (
      <div className={c.page}>
        <h1>This apply is gone</h1>
        <p>The stack {stackName} was deleted with what it owned, or the link is wrong.</p>
        <div>
          <LinkButton to="/w/$workspaceId/stacks" params={{ workspaceId }}>
            All stacks
          </LinkButton>
        </div>
      </div>
    );
  }
  return (
    <Page
      title={`Apply of ${stackName}`}
      aside={
        <Link to="/w/$workspaceId/stacks/$stackName" params={{ workspaceId, stackName }}>
          Back to the stack
        </Link>
      }
    >
      <Loaded query={query} skeleton={<Skeleton rows={2} height={120} />}>
        {({ apply: { steps, changes, deploys, warnings, ...apply } }) => (
          <>
            <Head apply={apply} path={path} />
            {apply.error === '' ? null : (
              <Notice tone="bad" title={apply.status === 'cancelled' ? 'The apply was cancelled' : 'The apply failed'}>
                <div className={d.error}>{apply.error}</div>
                <p>What is done stays. Plan the document again to go on.</p>
              </Notice>
            )}
            {steps.length === 0 ? null : (
              <Card>
                <ol className={t.steps} aria-label="Steps">
                  {stepRows(steps, apply.status).map((row, index) => (
                    <Step key={`${index} ${row.step.op}`} row={row} workspaceId={workspaceId} />
                  ))}
                </ol>
              </Card>
            )}
            <section className={`${u.card} ${u.cardBody} ${u.stack}`}>
              <h2>{changesTitle(changes.length, deploys.length, apply.rollbackOf !== null)}</h2>
              <PlanView changes={changes} warnings={warnings} deploys={deploys} release={apply.release} />
            </section>
          </>
        )}
      </Loaded>
    </Page>
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
  const { tone, text } = RUN_STATUS[status];
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
        <Took startedAt={startedAt} finishedAt={finishedAt} />
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

function Step({ row: { step, text, tone, state }, workspaceId }: { row: StepRow; workspaceId: string }) {
  const path = { workspaceId, serviceId: step.resourceId ?? '', deploymentId: step.deploymentId ?? '' };
  const deploys = step.resourceId !== null && step.deploymentId !== null;
  const { data } = useGet(
    '/workspaces/{workspaceId}/services/{serviceId}/deploys/{deploymentId}',
    { path },
    { working: ({ deployment }) => isUnfinished(deployment), enabled: deploys },
  );
  const status = data === undefined ? { tone, text: state } : deploymentStatus(data.deployment, null);
  return (
    <li>
      <Glyph tone={status.tone} />
      <span>
        {text} <strong>{step.name}</strong>
      </span>
      {deploys ? (
        <Link to="/w/$workspaceId/s/$serviceId/d/$deploymentId" params={path}>
          {status.text}
        </Link>
      ) : (
        <span className={u.dim}>{status.text}</span>
      )}
      {step.error === '' ? null : <div className={t.stepError}>{step.error}</div>}
    </li>
  );
}

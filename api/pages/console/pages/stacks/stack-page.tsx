import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Answer, OperationOf, Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { Button, LinkButton } from '../../ui/button.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { CheckField } from '../../ui/field.js';
import { FIRST_ROWS } from '../../ui/history.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { RUN_STATUS, Status } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import d from '../deployments/deployments.module.css';
import c from '../shell.module.css';
import { driftReason, driftStatus } from './apply-text.js';
import { PlanView } from './plan-view.js';
import { StackApplies } from './stack-applies.js';
import { useEnvironments } from './stack-place.js';

const PATH = '/workspaces/{workspaceId}/stacks/{stackName}';

type Stack = Answer<OperationOf<typeof PATH, 'get'>>['stack'];

export function StackPage() {
  const path = useParams({ from: '/w/$workspaceId/stacks/$stackName' });
  const query = useGet(PATH, { path }, { working: ({ stack }) => isRunning(stack.lastApply) });
  return (
    <div className={c.page}>
      <Loaded query={query} skeleton={<Skeleton rows={3} height={120} />}>
        {({ stack }) => (
          <>
            <Head stack={stack} workspaceId={path.workspaceId} />
            <Drift stack={stack} />
            <Owned stack={stack} workspaceId={path.workspaceId} />
            <StackApplies path={path} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function isRunning(apply: Schemas['StackApply'] | null): boolean {
  return apply !== null && apply.finishedAt === null;
}

function Head({ stack: { name, environmentId, lastApply }, workspaceId }: { stack: Stack; workspaceId: string }) {
  const environments = useEnvironments(workspaceId);
  const params = { workspaceId, stackName: name };
  const { data } = useGet(`${PATH}/applies`, { path: params, query: { limit: FIRST_ROWS } });
  // A rollback applies no document, so `release` is taken from the newest apply that is not a rollback.
  const release = data?.applies.find(({ rollbackOf }) => rollbackOf === null)?.release;
  return (
    <div className={c.head}>
      <div className={u.stack} style={{ gap: 4 }}>
        <Link to="/w/$workspaceId/stacks" params={{ workspaceId }}>
          All stacks
        </Link>
        <h1>{name}</h1>
        <div className={d.meta}>
          {lastApply === null ? null : (
            <Link to="/w/$workspaceId/stacks/$stackName/applies/$applyId" params={{ ...params, applyId: lastApply.id }}>
              <Status tone={RUN_STATUS[lastApply.status].tone}>{RUN_STATUS[lastApply.status].text}</Status>
            </Link>
          )}
          <span>{environments?.find(({ value }) => value === environmentId)?.text ?? ''}</span>
          {release === 'together' ? <span>Goes live together</span> : null}
        </div>
      </div>
      <div className={u.actions}>
        <LinkButton look="primary" to="/w/$workspaceId/stacks/$stackName/plan" params={params}>
          Plan a change
        </LinkButton>
        <DeleteStack path={params} />
      </div>
    </div>
  );
}

function Drift({ stack: { drift, warnings, lastApply } }: { stack: Stack }) {
  const running = isRunning(lastApply);
  const { tone, text } = driftStatus(drift.length, warnings.length);
  const title = running ? 'What the apply has left to do' : 'Drift';
  return (
    <section className={`${u.card} ${u.cardBody} ${u.stack}`} aria-label={title}>
      <h2>{title}</h2>
      {drift.length === 0 ? <Status tone={tone}>{text}</Status> : running ? null : <p>{driftReason(lastApply)}</p>}
      <PlanView changes={drift} warnings={warnings} />
    </section>
  );
}

function Owned({ stack: { resources }, workspaceId }: { stack: Stack; workspaceId: string }) {
  if (resources.length === 0) return null;
  return (
    <section className={`${u.card} ${u.cardBody} ${u.stack}`} aria-label="What it owns">
      <h2>What it owns</h2>
      <ul className={d.meta}>
        {resources.map(({ kind, id, name }) => (
          <li key={id}>
            {kind === 'service' ? (
              <Link to="/w/$workspaceId/s/$serviceId" params={{ workspaceId, serviceId: id }}>
                {name}
              </Link>
            ) : (
              <>
                group{' '}
                <Link to="/w/$workspaceId/settings/groups/$groupId" params={{ workspaceId, groupId: id }}>
                  {name}
                </Link>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function DeleteStack({ path }: { path: { workspaceId: string; stackName: string } }) {
  const { workspaceId, stackName } = path;
  const navigate = useNavigate();
  const refusal = useRefusal(workspaceId, 'developer');
  const [keep, setKeep] = useState(true);
  const { ask, dialog } = useConfirmation(
    (confirm: string) => remove(PATH, { path, body: { confirm, keep } }),
    ({ apply }) =>
      apply === null
        ? navigate({ to: '/w/$workspaceId/stacks', params: { workspaceId } })
        : navigate({
            to: '/w/$workspaceId/stacks/$stackName/applies/$applyId',
            params: { ...path, applyId: apply.id },
          }),
  );
  return (
    <>
      <Button refusal={refusal} onClick={() => ask(stackName)}>
        Delete…
      </Button>
      <ConfirmDialog
        {...dialog}
        title={`Delete ${stackName}?`}
        name={stackName}
        action={keep ? 'Forget the stack' : 'Delete permanently'}
      >
        <div className={u.stack}>
          <CheckField
            label="Keep what it owns"
            hint="Only the stack is forgotten. Its services, databases and groups go on."
            value={keep}
            onChange={setKeep}
          />
          {keep ? null : <p>Its services, databases and groups are deleted, with their data.</p>}
        </div>
      </ConfirmDialog>
    </>
  );
}

import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { get, post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { WriteForm } from '../../ui/form.js';
import { ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { UnsavedGuard } from '../../ui/unsaved-guard.js';
import { Page, useWorkspaceId } from '../page.js';
import { DocumentEditor } from './document-editor.js';
import { PlanCard } from './plan-card.js';
import { faultsOf } from './plan-text.js';
import { StackPlace, usePlace } from './stack-place.js';
import t from './stacks.module.css';

const EXAMPLE = `services:
  web:
    kind: web
    repository: https://git.example.com/shop.git
`;

export function NewStackPage() {
  const workspaceId = useWorkspaceId();
  const refusal = useRefusal(workspaceId, 'developer');
  const place = usePlace('');
  return (
    <Page
      title="Plan a stack"
      aside={
        <Link to="/w/$workspaceId/stacks" params={{ workspaceId }}>
          All stacks
        </Link>
      }
    >
      <PlanForm workspaceId={workspaceId} place={place} refusal={refusal}>
        <StackPlace place={place} project={place.stackName || 'Project'} refusal={refusal} />
      </PlanForm>
    </Page>
  );
}

export function StackPlanPage() {
  const { workspaceId, stackName } = useParams({ from: '/w/$workspaceId/stacks/$stackName/plan' });
  const refusal = useRefusal(workspaceId, 'developer');
  const query = useGet('/workspaces/{workspaceId}/stacks/{stackName}', { path: { workspaceId, stackName } });
  return (
    <Page
      title={`Plan ${stackName}`}
      aside={
        <Link to="/w/$workspaceId/stacks/$stackName" params={{ workspaceId, stackName }}>
          Back to the stack
        </Link>
      }
    >
      <Loaded query={query} skeleton={<Skeleton rows={1} height={420} />}>
        {({ stack }) => (
          <PlanForm
            workspaceId={workspaceId}
            place={{ stackName, environmentId: stack.environmentId }}
            refusal={refusal}
          />
        )}
      </Loaded>
    </Page>
  );
}

function PlanForm({
  workspaceId,
  place,
  refusal,
  children,
}: {
  workspaceId: string;
  place: { stackName: string; environmentId: string | undefined };
  refusal: string | null;
  children?: React.ReactNode;
}) {
  const { stackName, environmentId } = place;
  const [text, setText] = useState('');
  const [saved, setSaved] = useState('');
  const plan = useWrite(async () => {
    const planned = { stackName, environmentId, document: text };
    const { plan: found } = await post('/workspaces/{workspaceId}/stacks/plan', {
      path: { workspaceId },
      body: { name: stackName, document: text, environmentId },
    });
    return { ...planned, plan: found };
  });
  const pull = useWrite(
    () =>
      get('/workspaces/{workspaceId}/environments/{environmentId}/stack', {
        path: { workspaceId, environmentId: environmentId ?? '' },
      }),
    ({ document }) => {
      plan.reset();
      setText(document);
      setSaved(document);
    },
  );
  const isReady = stackName !== '' && environmentId !== undefined && text.trim() !== '';
  const faults = faultsOf(plan.error?.details ?? []);
  const { data } = plan;
  // A plan for earlier input is not shown, because it must not be applied.
  const isCurrent = data?.document === text && data.stackName === stackName && data.environmentId === environmentId;
  return (
    <>
      <UnsavedGuard dirty={text !== saved} />
      <WriteForm className={t.write} write={plan} ready={isReady}>
        {children}
        <DocumentEditor label="ranvier.yaml" value={text} faults={faults} placeholder={EXAMPLE} onChange={setText} />
        {plan.error && faults.length === 0 ? <ErrorNotice title="This cannot be planned" error={plan.error} /> : null}
        {pull.error ? <ErrorNotice title="The environment was not read" error={pull.error} /> : null}
        {pull.data?.warnings.map((warning) => (
          <Notice key={warning} tone="warn">
            {warning}
          </Notice>
        ))}
        <div className={u.actions}>
          <Button
            look={isCurrent ? 'plain' : 'primary'}
            type="submit"
            refusal={refusal}
            pending={plan.isPending}
            disabled={!isReady}
          >
            Plan
          </Button>
          {text.trim() === '' ? (
            <Button
              look="quiet"
              pending={pull.isPending}
              disabled={environmentId === undefined}
              onClick={() => pull.mutate()}
            >
              Fill in what exists
            </Button>
          ) : null}
        </div>
      </WriteForm>
      {data !== undefined && isCurrent ? (
        <PlanCard key={data.plan.hash} workspaceId={workspaceId} {...data} refusal={refusal} />
      ) : null}
    </>
  );
}

import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { LinkButton } from '../../ui/button.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { RUN_STATUS, Status } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import { Page, useWorkspaceId } from '../page.js';
import { driftStatus } from './apply-text.js';
import { useEnvironments } from './stack-place.js';

type Stack = Schemas['Stack'];

export function StacksPage() {
  const workspaceId = useWorkspaceId();
  const [limit, setLimit] = useState(FIRST_ROWS);
  const environments = useEnvironments(workspaceId);
  const query = useGet(
    '/workspaces/{workspaceId}/stacks',
    { path: { workspaceId }, query: { limit } },
    { working: ({ stacks }) => stacks.some(isApplied), keep: true },
  );
  const plan = (
    <LinkButton look="primary" to="/w/$workspaceId/new/stack" params={{ workspaceId }}>
      Plan a stack
    </LinkButton>
  );
  return (
    <Page title="Stacks" aside={query.data?.stacks.length ? plan : null}>
      <Loaded query={query} skeleton={<Skeleton rows={3} height={62} />}>
        {({ stacks, page }) =>
          stacks.length === 0 ? (
            <Empty title="No stacks yet" action={plan}>
              A stack is a file, ranvier.yaml, that says what an environment is: services, databases, variables, volumes
              and domains. You see what it would change before it is applied, and what was changed by hand since.
            </Empty>
          ) : (
            <>
              <ul className={u.card}>
                {stacks.map((stack) => (
                  <Row
                    // The key changes when an apply ends, so that the drift is read again.
                    key={`${stack.id} ${stack.lastApply?.id} ${stack.lastApply?.status}`}
                    workspaceId={workspaceId}
                    stack={stack}
                    environment={environments?.find(({ value }) => value === stack.environmentId)?.text ?? ''}
                  />
                ))}
              </ul>
              <ShowOlder hasMore={page.hasMore} limit={limit} onLimit={setLimit} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function isApplied({ lastApply }: Stack): boolean {
  return lastApply !== null && lastApply.finishedAt === null;
}

function Row({ workspaceId, stack, environment }: { workspaceId: string; stack: Stack; environment: string }) {
  const { name, lastApply } = stack;
  return (
    <HistoryRow
      status={lastApply === null ? { tone: 'plain', text: 'Not applied' } : RUN_STATUS[lastApply.status]}
      title={
        <Link to="/w/$workspaceId/stacks/$stackName" params={{ workspaceId, stackName: name }}>
          {name}
        </Link>
      }
      detail={environment}
      at={lastApply?.createdAt}
    >
      {isApplied(stack) ? null : <Drift workspaceId={workspaceId} stackName={name} />}
    </HistoryRow>
  );
}

/** Reads the stack, because the list of stacks does not contain the drift. */
function Drift({ workspaceId, stackName }: { workspaceId: string; stackName: string }) {
  const { data } = useGet(
    '/workspaces/{workspaceId}/stacks/{stackName}',
    { path: { workspaceId, stackName } },
    { poll: false },
  );
  if (data === undefined) return null;
  const { tone, text } = driftStatus(data.stack.drift.length, data.stack.warnings.length);
  return <Status tone={tone}>{text}</Status>;
}

import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { RUN_STATUS } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import { applyText } from './apply-text.js';

type Apply = Schemas['StackApply'];

const STACK = '/workspaces/{workspaceId}/stacks/{stackName}';

export function StackApplies({ path }: { path: { workspaceId: string; stackName: string } }) {
  const { stackName } = path;
  const navigate = useNavigate();
  const refusal = useRefusal(path.workspaceId, 'developer');
  const [limit, setLimit] = useState(FIRST_ROWS);
  const query = useGet(
    `${STACK}/applies`,
    { path, query: { limit } },
    { working: ({ applies }) => applies.some(({ finishedAt }) => finishedAt === null), keep: true },
  );
  const { ask, target, dialog } = useConfirmation(
    ({ id }: Apply) => post(`${STACK}/rollback`, { path, body: { applyId: id } }),
    ({ apply: { id } }) =>
      navigate({ to: '/w/$workspaceId/stacks/$stackName/applies/$applyId', params: { ...path, applyId: id } }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton rows={2} height={62} />}>
      {({ applies, page }) => (
        <Card title="Applies" label="Applies">
          <ul>
            {applies.map((apply, index) => (
              <HistoryRow
                key={apply.id}
                status={RUN_STATUS[apply.status]}
                title={
                  <Link to="/w/$workspaceId/stacks/$stackName/applies/$applyId" params={{ ...path, applyId: apply.id }}>
                    {apply.rollbackOf === null ? 'Apply' : 'Rollback'} {apply.id.slice(-8)}
                  </Link>
                }
                detail={applyText(apply)}
                at={apply.createdAt}
                startedAt={apply.startedAt}
                finishedAt={apply.finishedAt}
              >
                {apply.status === 'succeeded' && index > 0 ? (
                  <Button small refusal={refusal} onClick={() => ask(apply)}>
                    Roll back
                  </Button>
                ) : null}
              </HistoryRow>
            ))}
          </ul>
          <ShowOlder hasMore={page.hasMore} limit={limit} onLimit={setLimit} />
          <ConfirmDialog {...dialog} title={`Roll ${stackName} back?`} name={stackName} action="Roll back">
            The releases that were live after the apply of {target === null ? null : <Ago at={target.createdAt} />} are
            released again, all together or none. The settings of the services and the document of the stack stay.
          </ConfirmDialog>
        </Card>
      )}
    </Loaded>
  );
}

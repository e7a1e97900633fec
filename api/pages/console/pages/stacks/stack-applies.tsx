import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { APPLY_STATUS, applyText } from './apply-text.js';

type Apply = Schemas['StackApply'];

const STACK = '/workspaces/{workspaceId}/stacks/{stackName}';

/** The applies of a stack, newest first, and the rollback to an earlier one. */
export function StackApplies({ path }: { path: { workspaceId: string; stackName: string } }) {
  const { stackName } = path;
  const navigate = useNavigate();
  const refusal = useRefusal(path.workspaceId, 'developer');
  const [limit, setLimit] = useState(FIRST_ROWS);
  const [target, setTarget] = useState<Apply | null>(null);
  const query = useGet(
    `${STACK}/applies`,
    { path, query: { limit } },
    { working: ({ applies }) => applies.some(({ finishedAt }) => finishedAt === null), keep: true },
  );
  const rollback = useWrite((applyId: string) => post(`${STACK}/rollback`, { path, body: { applyId } }), {
    onDone: ({ apply }) =>
      navigate({ to: '/w/$workspaceId/stacks/$stackName/applies/$applyId', params: { ...path, applyId: apply.id } }),
  });
  const ask = (apply: Apply) => {
    rollback.reset();
    setTarget(apply);
  };
  return (
    <Loaded query={query} skeleton={<Skeleton rows={2} height={62} />}>
      {({ applies, page }) => (
        <section className={u.card} aria-label="Applies">
          <div className={u.cardHead}>
            <h2>Applies</h2>
          </div>
          <ul>
            {applies.map((apply, index) => (
              <HistoryRow
                key={apply.id}
                status={APPLY_STATUS[apply.status]}
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
          <ConfirmDialog
            title={`Roll ${stackName} back?`}
            name={stackName}
            action="Roll back"
            open={target !== null}
            onClose={() => setTarget(null)}
            onConfirm={() => target && rollback.mutate(target.id)}
            write={rollback}
          >
            The releases that were live after the apply of {target === null ? null : <Ago at={target.createdAt} />} are
            released again, all together or none. The settings of the services and the document of the stack stay.
          </ConfirmDialog>
        </section>
      )}
    </Loaded>
  );
}

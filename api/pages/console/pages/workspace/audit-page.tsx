import { useState } from 'react';
import { useRefusal } from '../../api/session.js';
import { useGet } from '../../api/use-api.js';
import { Card, Table } from '../../ui/card.js';
import { FIRST_ROWS, ShowOlder } from '../../ui/history.js';
import { Empty, Loaded, Notice, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { useWorkspaceId } from '../page.js';

const CREDENTIALS = { session: 'browser', hook: 'hook', provider: 'sign-in' };

export function AuditPage() {
  const workspaceId = useWorkspaceId();
  const refusal = useRefusal(workspaceId, 'admin');
  const [limit, setLimit] = useState(FIRST_ROWS);
  const query = useGet(
    '/workspaces/{workspaceId}/audit',
    { path: { workspaceId }, query: { limit } },
    { enabled: refusal === null, keep: true },
  );
  if (refusal !== null) return <Notice tone="plain">{refusal}.</Notice>;
  return (
    <Loaded query={query} skeleton={<Skeleton rows={6} height={40} />}>
      {({ entries, page }) =>
        entries.length === 0 ? (
          <Empty title="No changes yet">
            The audit log shows who changed what. Entries are kept for 90 days or longer.
          </Empty>
        ) : (
          <>
            <Card>
              <Table columns={['Time', 'Actor', 'What', 'Target', 'Request']}>
                {entries.map(({ id, createdAt, actor, credential, operation, target, requestId }) => (
                  <tr key={id}>
                    <td>
                      <Ago at={createdAt} />
                    </td>
                    <td>
                      {actor}
                      <span className={u.dim}>
                        {' '}
                        {credential.kind === 'key' ? `key ${credential.name ?? ''}` : CREDENTIALS[credential.kind]}
                      </span>
                    </td>
                    <td>
                      <code>{operation}</code>
                    </td>
                    <td title={target.path}>{target.name || '–'}</td>
                    <td>
                      <code className={u.dim}>{requestId.slice(0, 8)}</code>
                    </td>
                  </tr>
                ))}
              </Table>
            </Card>
            <div className={u.actions}>
              <ShowOlder hasMore={page.hasMore} limit={limit} onLimit={setLimit} />
            </div>
          </>
        )
      }
    </Loaded>
  );
}

import { Link } from '@tanstack/react-router';
import type { Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { Card } from '../../ui/card.js';
import { HistoryRow } from '../../ui/history.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { deploymentStatus } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import { commitText } from '../deployments/deployment-text.js';
import { Page, useWorkspaceId } from '../page.js';

type Queued = Schemas['WorkspaceDeployment'];

export function QueuePage() {
  const workspaceId = useWorkspaceId();
  const query = useGet(
    '/workspaces/{workspaceId}/deploys',
    { path: { workspaceId }, query: { active: 'true', limit: 100 } },
    { working: ({ items }) => items.length > 0 },
  );
  return (
    <Page title="Queue">
      <Loaded query={query} skeleton={<Skeleton rows={2} height={120} />}>
        {({ items }) => {
          if (items.length === 0) {
            return (
              <Empty
                title="The queue is empty"
                action={
                  <Link to="/w/$workspaceId" params={{ workspaceId }}>
                    Go to the canvas
                  </Link>
                }
              >
                Deployments appear here while they run or wait, with the reason.
              </Empty>
            );
          }
          const oldestFirst = [...items].reverse();
          return (
            <>
              <Part
                title="Running"
                none="Nothing runs."
                workspaceId={workspaceId}
                items={oldestFirst.filter(({ startedAt }) => startedAt !== null)}
              />
              <Part
                title="Waiting"
                none="No deployment waits."
                workspaceId={workspaceId}
                items={oldestFirst.filter(({ startedAt }) => startedAt === null)}
              />
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Part({
  title,
  none,
  workspaceId,
  items,
}: {
  title: string;
  none: string;
  workspaceId: string;
  items: readonly Queued[];
}) {
  return (
    <Card title={`${title} (${items.length})`}>
      {items.length === 0 ? <p className={`${u.cardBody} ${u.dim}`}>{none}</p> : null}
      <ol>
        {items.map((item) => (
          <HistoryRow
            key={item.id}
            status={deploymentStatus(item, null)}
            title={
              <Link
                to="/w/$workspaceId/s/$serviceId/d/$deploymentId"
                params={{ workspaceId, serviceId: item.serviceId, deploymentId: item.id }}
              >
                {item.serviceName}
              </Link>
            }
            detail={item.blockedReason || commitText(item)}
            startedAt={item.startedAt ?? item.createdAt}
          />
        ))}
      </ol>
    </Card>
  );
}

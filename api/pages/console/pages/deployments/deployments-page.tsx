import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Deployment } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { LinkButton } from '../../ui/button.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { isDatabase } from '../../ui/source-text.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { deploymentStatus, isUnfinished } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import { ConnectCard } from '../services/connect-card.js';
import { DeployButton } from '../services/deploy-button.js';
import { useService, useServicePath } from '../services/service-shell.js';
import { CanaryCard } from './canary-card.js';
import { commitText, hasCanary, TRIGGER_TEXT } from './deployment-text.js';

export function DeploymentsPage() {
  const service = useService();
  return (
    <>
      {isDatabase(service.kind) ? <ConnectCard service={service} /> : null}
      <Deployments />
    </>
  );
}

function Deployments() {
  const path = useServicePath();
  const service = useService();
  const [limit, setLimit] = useState(FIRST_ROWS);
  const query = useGet(
    '/workspaces/{workspaceId}/services/{serviceId}/deploys',
    { path, query: { limit } },
    { working: ({ items }) => items.some(isUnfinished), keep: true },
  );
  return (
    <Loaded query={query} skeleton={<Skeleton rows={4} height={62} />}>
      {({ items, page, available, reason }) => {
        if (items.length === 0) {
          return (
            <Empty
              title={available ? 'No deployments yet' : 'This service cannot be deployed'}
              action={available ? <DeployButton workspaceId={path.workspaceId} service={service} primary /> : null}
            >
              {available ? 'A deployment builds the service and releases it at its URL.' : reason}
            </Empty>
          );
        }
        const canary = items.find((one) => isUnfinished(one) && hasCanary(one));
        return (
          <>
            {canary === undefined ? null : <CanaryCard deployment={canary} />}
            <ul className={u.card}>
              {items.map((deployment) => (
                <Row key={deployment.id} deployment={deployment} />
              ))}
            </ul>
            <div className={u.actions}>
              <ShowOlder hasMore={page.hasMore} limit={limit} onLimit={setLimit} />
              {items.length > 1 ? (
                <LinkButton look="quiet" to="/w/$workspaceId/s/$serviceId/compare" params={path}>
                  Compare
                </LinkButton>
              ) : null}
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

function Row({ deployment }: { deployment: Deployment }) {
  const path = useServicePath();
  const { id, startedAt, finishedAt, createdAt, error, blockedReason } = deployment;
  const { kind, liveDeploymentId } = useService();
  const why = isUnfinished(deployment) ? blockedReason : error.split('\n')[0];
  return (
    <HistoryRow
      status={deploymentStatus(deployment, liveDeploymentId)}
      title={
        <Link to="/w/$workspaceId/s/$serviceId/d/$deploymentId" params={{ ...path, deploymentId: id }}>
          {isDatabase(kind) ? 'Deployment' : commitText(deployment)}
        </Link>
      }
      detail={why || `${TRIGGER_TEXT[deployment.trigger]} · ${deployment.actor}`}
      at={createdAt}
      startedAt={startedAt}
      finishedAt={finishedAt}
    />
  );
}

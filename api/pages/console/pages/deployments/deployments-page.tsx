import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useGet } from '../../api/hooks.js';
import type { Deployment } from '../../api/types.js';
import { Button, LinkButton } from '../../ui/button.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { deploymentStatus, isUnfinished, Status } from '../../ui/status.js';
import { Ago, Duration } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { DeployButton } from '../services/deploy-button.js';
import { useService, useServicePath } from '../services/service-shell.js';
import { commitText, TRIGGER_TEXT } from './deployment-text.js';
import d from './deployments.module.css';

const PAGE = 30;

/** What changed when: the deployments of a service, newest first. */
export function DeploymentsPage() {
  const path = useServicePath();
  const service = useService();
  const [limit, setLimit] = useState(PAGE);
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
              title={available ? 'It was never deployed' : 'Nothing can be deployed'}
              action={available ? <DeployButton workspaceId={path.workspaceId} service={service} primary /> : null}
            >
              {available ? 'A deployment clones, builds and releases it.' : reason}
            </Empty>
          );
        }
        return (
          <>
            <ul className={`${u.card} ${d.list}`}>
              {items.map((deployment) => (
                <Row key={deployment.id} deployment={deployment} path={path} liveId={service.liveDeploymentId} />
              ))}
            </ul>
            <div className={u.actions}>
              {page.hasMore && limit < 200 ? (
                <Button onClick={() => setLimit(Math.min(200, limit + 2 * PAGE))}>Show older ones</Button>
              ) : null}
              {items.length > 1 ? (
                <LinkButton look="quiet" to="/w/$workspaceId/s/$serviceId/compare" params={path}>
                  Compare two
                </LinkButton>
              ) : null}
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

function Row({
  deployment,
  path,
  liveId,
}: {
  deployment: Deployment;
  path: { workspaceId: string; serviceId: string };
  liveId: string | null;
}) {
  const { tone, text } = deploymentStatus(deployment, liveId);
  const { id, startedAt, finishedAt, createdAt, error, blockedReason } = deployment;
  const why = isUnfinished(deployment) ? blockedReason : error.split('\n')[0];
  return (
    <li className={d.row}>
      <div className={d.state}>
        <Status tone={tone}>{text}</Status>
      </div>
      <div className={d.what}>
        <Link
          to="/w/$workspaceId/s/$serviceId/d/$deploymentId"
          params={{ ...path, deploymentId: id }}
          className={d.link}
        >
          {commitText(deployment)}
        </Link>
        <span className={`${u.dim} ${u.ellipsis}`}>
          {why || `${TRIGGER_TEXT[deployment.trigger]} · ${deployment.actor}`}
        </span>
      </div>
      <div className={`${d.when} ${u.dim}`}>
        <Ago at={createdAt} />
        {startedAt === null ? null : <Duration from={startedAt} to={finishedAt} />}
      </div>
    </li>
  );
}

import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Deployment } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button, OutLink } from '../../ui/button.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { isDatabase } from '../../ui/source-text.js';
import { ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import { deploymentStatus, isUnfinished, Status } from '../../ui/status.js';
import { Ago, Took } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { LogView } from '../logs/log-view.js';
import { useService, useServicePath } from '../services/service-shell.js';
import c from '../shell.module.css';
import { CanaryCard } from './canary-card.js';
import { commitText, hasCanary, shortSha, TRIGGER_TEXT } from './deployment-text.js';
import d from './deployments.module.css';
import { StepTimeline } from './step-timeline.js';

const DEPLOYS = '/workspaces/{workspaceId}/services/{serviceId}/deploys';
const DEPLOYMENT = `${DEPLOYS}/{deploymentId}` as const;
/** Number of deployments to read. The last five successful ones, which `usualMs` uses, are usually among them. */
const COMPARED = 20;

export function DeploymentPage() {
  const { deploymentId, ...path } = useParams({ from: '/w/$workspaceId/s/$serviceId/d/$deploymentId' });
  const query = useGet(
    DEPLOYMENT,
    { path: { ...path, deploymentId } },
    { working: ({ deployment }) => isUnfinished(deployment) },
  );
  const others = useGet(DEPLOYS, { path, query: { limit: COMPARED } }, { poll: false });
  return (
    <Loaded
      query={query}
      skeleton={
        <>
          <Skeleton rows={1} height={52} />
          <Skeleton rows={1} height={124} />
          <Skeleton rows={1} height={420} />
        </>
      }
    >
      {({ deployment }) => (
        <>
          <Head deployment={deployment} />
          <Outcome deployment={deployment} />
          {hasCanary(deployment) ? <CanaryCard deployment={deployment} /> : null}
          <section className={u.card}>
            <StepTimeline
              deployment={deployment}
              others={(others.data?.items ?? []).filter(({ id }) => id !== deployment.id)}
            />
          </section>
          <LogView
            key={deployment.id}
            filter={{ deploymentId: deployment.id }}
            working={isUnfinished(deployment)}
            title="Log"
          />
        </>
      )}
    </Loaded>
  );
}

function Head({ deployment }: { deployment: Deployment }) {
  const path = useServicePath();
  const service = useService();
  const { tone, text } = deploymentStatus(deployment, service.liveDeploymentId);
  const { trigger, actor, branch, commitSha, createdAt, startedAt, finishedAt, steps } = deployment;
  const { runId } = steps.findLast((step) => step.runId !== undefined) ?? {};
  return (
    <div className={c.head}>
      <div className={u.stack} style={{ gap: 4 }}>
        <div className={u.row}>
          <Status tone={tone}>{text}</Status>
          <h2>{isDatabase(service.kind) ? 'Deployment' : commitText(deployment)}</h2>
        </div>
        <div className={d.meta}>
          <span>
            <Ago at={createdAt} />, {TRIGGER_TEXT[trigger]}, {actor}
          </span>
          {commitSha === '' ? null : (
            <span>
              {branch} <code>{shortSha(commitSha)}</code>
            </span>
          )}
          <Took startedAt={startedAt} finishedAt={finishedAt} />
          {runId === undefined ? null : (
            <Link to="/w/$workspaceId/s/$serviceId/runs/$runId" params={{ ...path, runId }}>
              Pre-deploy command
            </Link>
          )}
        </div>
      </div>
      <DeploymentActions deployment={deployment} />
    </div>
  );
}

function Outcome({ deployment }: { deployment: Deployment }) {
  const service = useService();
  const { status, error, blockedReason } = deployment;
  if (status === 'failed') {
    // The error begins with the name of the failed step.
    const [, step = 'deployment', text = error] = /^(build|release|canary): (.*)$/s.exec(error) ?? [];
    return (
      <Notice tone="bad" title={`The ${step} failed`}>
        <div className={d.error}>{text.trim()}</div>
        {service.liveDeploymentId === null ? null : <p>The previous release is still serving.</p>}
      </Notice>
    );
  }
  if (isUnfinished(deployment) && blockedReason !== '') {
    return (
      <Notice tone="warn" title="Waiting">
        {blockedReason}
      </Notice>
    );
  }
  if (deployment.id === service.liveDeploymentId && service.url !== '') {
    return (
      <Notice tone="good" title="Deployment live">
        <div className={d.url}>
          <OutLink href={service.url}>{service.url}</OutLink>
        </div>
      </Notice>
    );
  }
  return null;
}

function DeploymentActions({ deployment }: { deployment: Deployment }) {
  const path = useServicePath();
  const service = useService();
  const navigate = useNavigate();
  const refusal = useRefusal(path.workspaceId, 'developer');
  const of = { ...path, deploymentId: deployment.id };
  const cancel = useWrite(() => post(`${DEPLOYMENT}/cancel`, { path: of }));
  const { ask, dialog } = useConfirmation(
    (confirm: string) => post(`${DEPLOYMENT}/rollback`, { path: of, body: { confirm } }),
    ({ deployment: { id } }) =>
      navigate({ to: '/w/$workspaceId/s/$serviceId/d/$deploymentId', params: { ...path, deploymentId: id } }),
  );
  const live = deployment.id === service.liveDeploymentId;
  return (
    <div className={u.stack}>
      <div className={u.actions}>
        {isUnfinished(deployment) ? (
          <Button
            pending={cancel.isPending || deployment.cancelRequested}
            refusal={refusal}
            onClick={() => cancel.mutate()}
          >
            {deployment.cancelRequested ? 'Cancelling…' : 'Cancel'}
          </Button>
        ) : null}
        {deployment.canRollback && !live ? (
          <Button refusal={refusal} onClick={() => ask(service.name)}>
            Roll back
          </Button>
        ) : null}
        {deployment.status === 'live' && !deployment.canRollback && !live ? (
          <Button refusal="Its image was removed: deploy its commit again" disabled>
            Roll back
          </Button>
        ) : null}
      </div>
      {cancel.error ? <ErrorNotice title="The deployment was not cancelled" error={cancel.error} /> : null}
      <ConfirmDialog {...dialog} title={`Roll ${service.name} back?`} name={service.name} action="Roll back">
        <strong>{commitText(deployment)}</strong> is released again with its configuration and variables. Nothing is
        built, so it takes seconds.
      </ConfirmDialog>
    </div>
  );
}

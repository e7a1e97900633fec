import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Deployment } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { ErrorNotice } from '../../ui/states.js';
import { isUnfinished } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import { useService } from '../services/service-shell.js';
import { commitText } from './deployment-text.js';

const DEPLOYMENT = '/workspaces/{workspaceId}/services/{serviceId}/deploys/{deploymentId}';

export function DeploymentActions({
  deployment,
  path,
}: {
  deployment: Deployment;
  path: { workspaceId: string; serviceId: string };
}) {
  const service = useService();
  const navigate = useNavigate();
  const refusal = useRefusal(path.workspaceId, 'developer');
  const [asked, setAsked] = useState(false);
  const of = { ...path, deploymentId: deployment.id };
  const cancel = useWrite(() => post(`${DEPLOYMENT}/cancel`, { path: of }));
  const rollback = useWrite(() => post(`${DEPLOYMENT}/rollback`, { path: of, body: { confirm: service.name } }), {
    onDone: ({ deployment: { id } }) => {
      setAsked(false);
      return navigate({ to: '/w/$workspaceId/s/$serviceId/d/$deploymentId', params: { ...path, deploymentId: id } });
    },
  });
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
          <Button refusal={refusal} onClick={() => setAsked(true)}>
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
      <ConfirmDialog
        title={`Roll ${service.name} back?`}
        name={service.name}
        action="Roll back"
        open={asked}
        onClose={() => setAsked(false)}
        onConfirm={() => rollback.mutate()}
        write={rollback}
      >
        <strong>{commitText(deployment)}</strong> is released again with its configuration and variables. Nothing is
        built, so it takes seconds.
      </ConfirmDialog>
    </div>
  );
}

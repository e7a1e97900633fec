import { useNavigate } from '@tanstack/react-router';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Service } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice } from '../../ui/states.js';

function deployRefusal(service: Service): string | null {
  if (service.archived) return 'The service is archived: restore it first';
  if (service.status === 'deleting') return 'The service is being deleted';
  return null;
}

export function DeployButton({
  workspaceId,
  service,
  text = 'Deploy',
  primary = false,
}: {
  workspaceId: string;
  service: Service;
  text?: string;
  primary?: boolean;
}) {
  const navigate = useNavigate();
  const role = useRefusal(workspaceId, 'developer');
  const path = { workspaceId, serviceId: service.id };
  const deploy = useWrite(
    () => post('/workspaces/{workspaceId}/services/{serviceId}/deploys', { path, body: {} }),
    ({ deployment: { id } }) =>
      navigate({ to: '/w/$workspaceId/s/$serviceId/d/$deploymentId', params: { ...path, deploymentId: id } }),
  );
  return (
    <>
      <Button
        look={primary ? 'primary' : 'plain'}
        pending={deploy.isPending}
        refusal={role ?? deployRefusal(service)}
        onClick={() => deploy.mutate()}
      >
        {deploy.isPending ? 'Queueing…' : text}
      </Button>
      {deploy.error ? <ErrorNotice title="The deployment was not queued" error={deploy.error} /> : null}
    </>
  );
}

import { put } from '../../api/api-client.js';
import { useGet } from '../../api/use-api.js';
import { DeployButton } from '../services/deploy-button.js';
import { useChangeRefusal, useService, useServicePath } from '../services/service-shell.js';
import { VariableEditor } from './variable-editor.js';

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/variables';

export function VariablesPage() {
  const path = useServicePath();
  const service = useService();
  return (
    <VariableEditor
      {...path}
      query={useGet(PATH, { path })}
      write={(body) => put(PATH, { path, body })}
      refusal={useChangeRefusal()}
    >
      <p>They take effect with the next deployment. Running replicas keep their values.</p>
      <div>
        <DeployButton workspaceId={path.workspaceId} service={service} text="Deploy now" />
      </div>
    </VariableEditor>
  );
}

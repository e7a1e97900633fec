import { patch } from '../../api/api-client.js';
import { useFieldSchemas } from '../../api/field-schemas.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { toast } from '../../ui/toast.js';
import { useWorkspaceId } from '../page.js';
import { SchemaForm, type Values } from '../settings/schema-form.js';
import { WORKSPACE_GROUPS } from './workspace-fields.js';

const PATH = '/workspaces/{workspaceId}';

export function WorkspacePage() {
  const workspaceId = useWorkspaceId();
  const refusal = useRefusal(workspaceId, 'admin');
  const query = useGet(PATH, { path: { workspaceId } });
  const schemas = useFieldSchemas('WorkspaceConfiguration');
  const save = useWrite(
    (configuration: Values) =>
      patch(PATH, {
        path: { workspaceId },
        body: { configuration: configuration as Schemas['PartialWorkspaceConfiguration'] },
      }),
    () => toast('Saved'),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton rows={3} height={180} />}>
      {({ workspace }) => (
        <Loaded query={schemas} skeleton={<Skeleton rows={3} height={200} />}>
          {(fields) => (
            <SchemaForm
              groups={WORKSPACE_GROUPS}
              schemas={fields}
              values={workspace.configuration}
              refusal={refusal}
              save={save}
            />
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

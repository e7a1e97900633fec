import { useState } from 'react';
import { patch } from '../../api/api-client.js';
import { useFieldSchemas } from '../../api/field-schemas.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Loaded, Notice, Skeleton } from '../../ui/states.js';
import { toast } from '../../ui/toast.js';
import { DeployButton } from '../services/deploy-button.js';
import { useChangeRefusal, useService, useServicePath } from '../services/service-shell.js';
import { SchemaForm, type Values } from './schema-form.js';
import { fieldGroups, needsDeployment } from './service-fields.js';

export function SettingsPage() {
  const path = useServicePath();
  const service = useService();
  const refusal = useChangeRefusal();
  const schemas = useFieldSchemas('ServiceConfiguration');
  const catalog = useGet('/catalog', {}, { poll: false });
  const [waits, setWaits] = useState(false);
  const save = useWrite(
    (configuration: Values) =>
      patch('/workspaces/{workspaceId}/services/{serviceId}', {
        path,
        body: { configuration: configuration as Schemas['PartialServiceConfiguration'] },
      }),
    (_, changes) => {
      if (needsDeployment(Object.keys(changes))) setWaits(true);
      else toast('Saved');
    },
  );
  return (
    <Loaded
      query={catalog.data || catalog.error ? schemas : { ...schemas, data: undefined }}
      skeleton={<Skeleton rows={3} height={220} />}
    >
      {(fields) => (
        <SchemaForm
          groups={fieldGroups(service.kind, catalog.data?.capabilities ?? {})}
          schemas={fields}
          values={service.configuration}
          refusal={refusal}
          save={save}
        >
          {waits ? (
            <Notice tone="good" title="Saved">
              <p>Deploy the service to apply the changes.</p>
              <div>
                <DeployButton workspaceId={path.workspaceId} service={service} text="Deploy now" />
              </div>
            </Notice>
          ) : null}
        </SchemaForm>
      )}
    </Loaded>
  );
}

import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import type { Service } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';

/** Creates a database. Shows nothing if no host of the installation can run one. */
export function DatabaseCard({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const { data } = useGet('/catalog', {}, { poll: false });
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const create = useWrite(
    (kind: Service['kind']) =>
      post('/workspaces/{workspaceId}/services', {
        path: { workspaceId },
        body: { name: name.trim() || kind, kind, deploy: true, configuration: {} },
      }),
    {
      onDone: ({ service }) =>
        navigate({ to: '/w/$workspaceId/s/$serviceId', params: { workspaceId, serviceId: service.id } }),
    },
  );
  const kinds: { kind: Service['kind']; text: string; able: boolean | undefined }[] = [
    { kind: 'postgres', text: 'Create PostgreSQL', able: data?.capabilities.databases },
    { kind: 'redis', text: 'Create Redis', able: data?.capabilities.keyValueStores },
  ];
  const able = kinds.filter((one) => one.able);
  if (able.length === 0) return null;
  return (
    <section className={`${u.card} ${u.cardBody} ${u.stack}`} style={{ maxWidth: 720 }}>
      <h2>Or create a database</h2>
      <TextField label="Database name" value={name} onChange={(event) => setName(event.target.value)} />
      <div className={u.actions}>
        {able.map(({ kind, text }) => (
          <Button key={kind} refusal={refusal} pending={create.isPending} onClick={() => create.mutate(kind)}>
            {text}
          </Button>
        ))}
      </div>
      {create.error ? <ErrorNotice title="The database was not created" error={create.error} /> : null}
    </section>
  );
}

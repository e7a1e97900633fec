import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { SelectField } from '../../ui/field.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import e from '../hooks/endpoints.module.css';
import w from '../workspace/workspace.module.css';

const PATH = '/workspaces/{workspaceId}/environment-groups/{groupId}/services';

export function LinkedServices({
  path,
  linked,
  refusal,
}: {
  path: { workspaceId: string; groupId: string };
  linked: readonly string[];
  refusal: string | null;
}) {
  const { workspaceId } = path;
  const { data } = useGet('/workspaces/{workspaceId}/services', { path: { workspaceId } });
  const services = data?.services ?? [];
  const others = services.filter(({ id, archived, kind }) => !linked.includes(id) && !archived && takesVariables(kind));
  const [chosen, setChosen] = useState('');
  const link = useWrite((serviceId: string) => post(PATH, { path, body: { serviceId } }), {
    onDone: () => setChosen(''),
  });
  const unlink = useWrite((serviceId: string) => remove(`${PATH}/{serviceId}`, { path: { ...path, serviceId } }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (chosen !== '' && !link.isPending) link.mutate(chosen);
  };
  const error = link.error ?? unlink.error;
  return (
    <section className={u.card}>
      <div className={u.cardHead}>
        <h2>Linked services</h2>
      </div>
      {linked.length === 0 ? <p className={`${u.cardBody} ${u.dim}`}>None yet.</p> : null}
      <ul>
        {linked.map((serviceId) => {
          const name = services.find(({ id }) => id === serviceId)?.name ?? serviceId;
          return (
            <li key={serviceId} className={w.member}>
              <Link to="/w/$workspaceId/s/$serviceId" params={{ workspaceId, serviceId }}>
                {name}
              </Link>
              <span />
              <Button
                small
                refusal={refusal}
                pending={unlink.isPending && unlink.variables === serviceId}
                aria-label={`Unlink ${name}`}
                onClick={() => unlink.mutate(serviceId)}
              >
                Unlink
              </Button>
            </li>
          );
        })}
      </ul>
      {others.length === 0 ? null : (
        <form className={e.add} onSubmit={submit}>
          <SelectField
            label="Another service"
            options={[{ value: '', text: 'Choose one' }, ...others.map(({ id, name }) => ({ value: id, text: name }))]}
            disabled={refusal !== null}
            value={chosen}
            onChange={(event) => setChosen(event.target.value)}
          />
          <Button type="submit" refusal={refusal} pending={link.isPending} disabled={chosen === ''}>
            Link
          </Button>
        </form>
      )}
      {error ? <ErrorNotice title="Nothing was changed" error={error} /> : null}
    </section>
  );
}

function takesVariables(kind: string): boolean {
  return kind !== 'postgres' && kind !== 'redis';
}

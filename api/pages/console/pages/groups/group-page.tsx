import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { post, put, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Row } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { SelectField } from '../../ui/field.js';
import { WriteForm } from '../../ui/form.js';
import { isDatabase } from '../../ui/source-text.js';
import { ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import e from '../hooks/endpoints.module.css';
import c from '../shell.module.css';
import { VariableEditor } from '../variables/variable-editor.js';

const PATH = '/workspaces/{workspaceId}/environment-groups/{groupId}';
const VARIABLES = `${PATH}/variables` as const;
const SERVICES = `${PATH}/services` as const;

export function GroupPage() {
  const path = useParams({ from: '/w/$workspaceId/settings/groups/$groupId' });
  const { workspaceId } = path;
  const navigate = useNavigate();
  const refusal = useRefusal(workspaceId, 'developer');
  const query = useGet(PATH, { path });
  const variables = useGet(VARIABLES, { path });
  const { ask, dialog } = useConfirmation(
    (_: string) => remove(PATH, { path }),
    () => {
      toast('The group is deleted');
      return navigate({ to: '/w/$workspaceId/settings/groups', params: { workspaceId } });
    },
  );
  return (
    <Loaded query={query} skeleton={<Skeleton rows={3} height={90} />}>
      {({ environmentGroup }) => (
        <>
          <div className={c.head}>
            <div>
              <Link to="/w/$workspaceId/settings/groups" params={{ workspaceId }}>
                All groups
              </Link>
              <h2>{environmentGroup.name}</h2>
            </div>
            <Button small refusal={refusal} onClick={() => ask(environmentGroup.id)}>
              Delete group…
            </Button>
          </div>
          <LinkedServices path={path} linked={environmentGroup.serviceIds} refusal={refusal} />
          <VariableEditor
            workspaceId={workspaceId}
            serviceId={null}
            query={variables}
            write={(body) => put(VARIABLES, { path, body })}
            refusal={refusal}
          >
            <p>
              The changes take effect with the next deployment of each linked service. Running replicas keep their
              values.
            </p>
          </VariableEditor>
          <ConfirmDialog {...dialog} title={`Delete ${environmentGroup.name}?`} action="Delete group">
            Linked services lose these variables with their next deployment. Running replicas keep them until then.
          </ConfirmDialog>
        </>
      )}
    </Loaded>
  );
}

function LinkedServices({
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
  const others = services.filter(({ id, archived, kind }) => !linked.includes(id) && !archived && !isDatabase(kind));
  const [chosen, setChosen] = useState('');
  const link = useWrite(
    () => post(SERVICES, { path, body: { serviceId: chosen } }),
    () => setChosen(''),
  );
  const unlink = useWrite((serviceId: string) => remove(`${SERVICES}/{serviceId}`, { path: { ...path, serviceId } }));
  const error = link.error ?? unlink.error;
  return (
    <Card title="Linked services">
      {linked.length === 0 ? <p className={`${u.cardBody} ${u.dim}`}>None yet.</p> : null}
      <ul>
        {linked.map((serviceId) => {
          const name = services.find(({ id }) => id === serviceId)?.name ?? serviceId;
          return (
            <Row
              key={serviceId}
              title={
                <Link to="/w/$workspaceId/s/$serviceId" params={{ workspaceId, serviceId }}>
                  {name}
                </Link>
              }
            >
              <Button
                small
                refusal={refusal}
                pending={unlink.isPending && unlink.variables === serviceId}
                aria-label={`Unlink ${name}`}
                onClick={() => unlink.mutate(serviceId)}
              >
                Unlink
              </Button>
            </Row>
          );
        })}
      </ul>
      {others.length === 0 ? null : (
        <WriteForm className={e.add} write={link} ready={chosen !== ''}>
          <SelectField
            label="Another service"
            options={[{ value: '', text: 'Choose one' }, ...others.map(({ id, name }) => ({ value: id, text: name }))]}
            disabled={refusal !== null}
            value={chosen}
            onChange={setChosen}
          />
          <Button type="submit" refusal={refusal} pending={link.isPending} disabled={chosen === ''}>
            Link
          </Button>
        </WriteForm>
      )}
      {error ? <ErrorNotice title="Nothing was changed" error={error} /> : null}
    </Card>
  );
}

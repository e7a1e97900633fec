import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import e from '../hooks/endpoints.module.css';
import w from '../workspace/workspace.module.css';

const PATH = '/workspaces/{workspaceId}/environment-groups';

export function GroupsPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId' });
  const refusal = useRefusal(workspaceId, 'developer');
  const query = useGet(PATH, { path: { workspaceId } });
  return (
    <Loaded query={query} skeleton={<Skeleton rows={3} height={56} />}>
      {({ environmentGroups }) => (
        <section className={u.card}>
          <div className={u.cardHead}>
            <h2>Environment groups</h2>
          </div>
          {environmentGroups.length === 0 ? (
            <Empty title="No environment groups yet">
              A group holds variables that several services share. A variable of the service itself takes precedence.
            </Empty>
          ) : (
            <ul>
              {environmentGroups.map(({ id, name, serviceIds, environmentId, updatedAt }) => (
                <li key={id} className={w.member}>
                  <div className={w.who}>
                    <Link to="/w/$workspaceId/settings/groups/$groupId" params={{ workspaceId, groupId: id }}>
                      {name}
                    </Link>
                    <span className={u.dim}>
                      {serviceIds.length === 1 ? 'one service' : `${serviceIds.length} services`}
                      {environmentId === null ? '' : ', of one environment only'}
                    </span>
                  </div>
                  <span className={u.dim}>
                    changed <Ago at={updatedAt} />
                  </span>
                </li>
              ))}
            </ul>
          )}
          <AddGroup workspaceId={workspaceId} refusal={refusal} />
        </section>
      )}
    </Loaded>
  );
}

function AddGroup({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const add = useWrite(() => post(PATH, { path: { workspaceId }, body: { name: name.trim() } }), {
    onDone: ({ environmentGroup }) =>
      navigate({
        to: '/w/$workspaceId/settings/groups/$groupId',
        params: { workspaceId, groupId: environmentGroup.id },
      }),
  });
  return (
    <WriteForm className={e.add} write={add} ready={name.trim() !== ''}>
      <TextField
        label="Name"
        placeholder="mail server"
        disabled={refusal !== null}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={name.trim() === ''}>
        Create group
      </Button>
      {add.error ? <ErrorNotice title="The group was not created" error={add.error} /> : null}
    </WriteForm>
  );
}

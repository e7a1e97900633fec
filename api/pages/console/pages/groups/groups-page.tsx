import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { ListCard, Row } from '../../ui/card.js';
import { TextField } from '../../ui/field.js';
import { AddForm } from '../../ui/form.js';
import { Empty, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import e from '../hooks/endpoints.module.css';
import { useWorkspaceId } from '../page.js';

const PATH = '/workspaces/{workspaceId}/environment-groups';

export function GroupsPage() {
  const workspaceId = useWorkspaceId();
  const refusal = useRefusal(workspaceId, 'developer');
  const query = useGet(PATH, { path: { workspaceId } });
  return (
    <ListCard
      title="Environment groups"
      query={query}
      skeleton={<Skeleton rows={3} height={56} />}
      items={({ environmentGroups }) => environmentGroups}
      empty={
        <Empty title="No environment groups yet">
          A group holds variables that several services share. A variable of the service itself takes precedence.
        </Empty>
      }
      add={<AddGroup workspaceId={workspaceId} refusal={refusal} />}
    >
      {({ id, name, serviceIds, environmentId, updatedAt }) => (
        <Row
          title={
            <Link to="/w/$workspaceId/settings/groups/$groupId" params={{ workspaceId, groupId: id }}>
              {name}
            </Link>
          }
          detail={
            <>
              {serviceIds.length === 1 ? 'one service' : `${serviceIds.length} services`}
              {environmentId === null ? '' : ', of one environment only'}
            </>
          }
          aside={
            <span className={u.dim}>
              changed <Ago at={updatedAt} />
            </span>
          }
        />
      )}
    </ListCard>
  );
}

function AddGroup({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const name = typed.trim();
  const add = useWrite(
    () => post(PATH, { path: { workspaceId }, body: { name } }),
    ({ environmentGroup: { id } }) =>
      navigate({ to: '/w/$workspaceId/settings/groups/$groupId', params: { workspaceId, groupId: id } }),
  );
  return (
    <AddForm
      className={e.add}
      write={add}
      ready={name !== ''}
      refusal={refusal}
      action="Create group"
      failure="The group was not created"
    >
      <TextField label="Name" placeholder="mail server" value={typed} onChange={setTyped} />
    </AddForm>
  );
}

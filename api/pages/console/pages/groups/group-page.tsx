import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { put, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { toast } from '../../ui/toast.js';
import c from '../shell.module.css';
import { VariableEditor } from '../variables/variable-editor.js';
import { LinkedServices } from './linked-services.js';

const PATH = '/workspaces/{workspaceId}/environment-groups/{groupId}';
const VARIABLES = `${PATH}/variables` as const;

export function GroupPage() {
  const path = useParams({ from: '/w/$workspaceId/settings/groups/$groupId' });
  const { workspaceId } = path;
  const navigate = useNavigate();
  const refusal = useRefusal(workspaceId, 'developer');
  const [leaving, setLeaving] = useState(false);
  const query = useGet(PATH, { path });
  const variables = useGet(VARIABLES, { path });
  const erase = useWrite(() => remove(PATH, { path }), {
    onDone: async () => {
      toast('The group is deleted');
      await navigate({ to: '/w/$workspaceId/settings/groups', params: { workspaceId } });
    },
  });
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
            <Button small refusal={refusal} onClick={() => setLeaving(true)}>
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
          <ConfirmDialog
            title={`Delete ${environmentGroup.name}?`}
            action="Delete group"
            open={leaving}
            onClose={() => setLeaving(false)}
            onConfirm={() => erase.mutate()}
            write={erase}
          >
            Linked services lose these variables with their next deployment. Running replicas keep them until then.
          </ConfirmDialog>
        </>
      )}
    </Loaded>
  );
}

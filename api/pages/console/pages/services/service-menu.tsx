import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Service } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Menu, MenuGroup, MenuItem, MenuSeparator } from '../../ui/menu.js';
import { ErrorNotice } from '../../ui/states.js';
import { toast } from '../../ui/toast.js';

type Action = 'restart' | 'suspend' | 'resume' | 'clear-cache';
type Asked = 'restart' | 'suspend' | 'archive' | 'delete';

const SERVICE = '/workspaces/{workspaceId}/services/{serviceId}';
const DONE: Record<Action, string> = {
  restart: 'The restart is queued: replicas are replaced one by one',
  suspend: 'The service will be suspended',
  resume: 'The service will be resumed',
  'clear-cache': 'A deployment with a cleared build cache is queued',
};

/** The actions on a service. Those that stop or delete something ask for confirmation. */
export function ServiceMenu({ service, path }: { service: Service; path: { workspaceId: string; serviceId: string } }) {
  const navigate = useNavigate();
  const refusal = useRefusal(path.workspaceId, 'developer');
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);

  const act = useWrite((action: Action) => post(`${SERVICE}/actions`, { path, body: { action } }), {
    onDone: (_, action) => {
      close();
      toast(DONE[action]);
    },
  });
  const archive = useWrite((restore: boolean) => post(`${SERVICE}/${restore ? 'restore' : 'archive'}`, { path }), {
    onDone: (_, restore) => {
      close();
      toast(restore ? `${service.name} can be deployed again` : `${service.name} is archived`);
    },
  });
  const erase = useWrite(() => remove(SERVICE, { path, body: { confirm: service.name } }), {
    onDone: async ({ deleted }) => {
      close();
      toast(deleted ? `${service.name} is deleted` : `${service.name} will be deleted`);
      if (deleted) await navigate({ to: '/w/$workspaceId', params: { workspaceId: path.workspaceId } });
    },
  });

  const failure = act.error ?? archive.error;
  const off = refusal !== null || service.status === 'deleting';
  const runs = service.liveDeploymentId !== null && service.lifecycleStatus === 'active';
  const suspended = service.lifecycleStatus === 'suspended';
  return (
    <>
      <Menu label="More actions" trigger="More">
        <MenuGroup label={refusal ?? 'Service'}>
          <MenuItem disabled={off || service.archived} onClick={() => act.mutate('clear-cache')}>
            Clear build cache and deploy
          </MenuItem>
          <MenuItem disabled={off || !runs} onClick={() => setAsked('restart')}>
            Restart
          </MenuItem>
          {suspended ? (
            <MenuItem disabled={off} onClick={() => act.mutate('resume')}>
              Resume
            </MenuItem>
          ) : (
            <MenuItem disabled={off || !runs} onClick={() => setAsked('suspend')}>
              Suspend
            </MenuItem>
          )}
          {service.archived ? (
            <MenuItem disabled={off} onClick={() => archive.mutate(true)}>
              Restore
            </MenuItem>
          ) : (
            <MenuItem disabled={off} onClick={() => setAsked('archive')}>
              Archive
            </MenuItem>
          )}
          <MenuSeparator />
          <MenuItem disabled={off} onClick={() => setAsked('delete')}>
            Delete…
          </MenuItem>
        </MenuGroup>
      </Menu>
      {asked === null && failure ? <ErrorNotice title="The action was refused" error={failure} /> : null}
      <ConfirmDialog
        title={`Restart ${service.name}?`}
        action="Restart"
        open={asked === 'restart'}
        onClose={close}
        onConfirm={() => act.mutate('restart')}
        write={act}
      >
        New replicas of the live release start before the old ones stop, so no request fails.
      </ConfirmDialog>
      <ConfirmDialog
        title={`Suspend ${service.name}?`}
        action="Suspend"
        open={asked === 'suspend'}
        onClose={close}
        onConfirm={() => act.mutate('suspend')}
        write={act}
      >
        Its replicas stop and its URL shows an error page. Settings, variables and releases are kept.
      </ConfirmDialog>
      <ConfirmDialog
        title={`Archive ${service.name}?`}
        action="Archive"
        open={asked === 'archive'}
        onClose={close}
        onConfirm={() => archive.mutate(false)}
        write={archive}
      >
        It cannot be deployed until you restore it. Running replicas keep running.
      </ConfirmDialog>
      <ConfirmDialog
        title={`Delete ${service.name}?`}
        name={service.name}
        action="Delete permanently"
        open={asked === 'delete'}
        onClose={close}
        onConfirm={() => erase.mutate()}
        write={erase}
      >
        Its replicas, releases, variables and logs are deleted. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}

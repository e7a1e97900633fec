import { useNavigate } from '@tanstack/react-router';
import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Service } from '../../api/types.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { Menu, MenuGroup, MenuItem, MenuSeparator } from '../../ui/menu.js';
import { ErrorNotice } from '../../ui/states.js';
import { toast } from '../../ui/toast.js';

type Path = { workspaceId: string; serviceId: string };
type Action = 'restart' | 'suspend' | 'resume' | 'clear-cache' | 'archive' | 'restore';

const SERVICE = '/workspaces/{workspaceId}/services/{serviceId}';

const DONE: Record<Action, (name: string) => string> = {
  restart: () => 'The restart is queued: replicas are replaced one by one',
  suspend: () => 'The service will be suspended',
  resume: () => 'The service will be resumed',
  'clear-cache': () => 'A deployment with a cleared build cache is queued',
  archive: (name) => `${name} is archived`,
  restore: (name) => `${name} can be deployed again`,
};

const QUESTIONS: Partial<Record<Action, { word: string; text: string }>> = {
  restart: {
    word: 'Restart',
    text: 'New replicas of the live release start before the old ones stop, so no request fails.',
  },
  suspend: {
    word: 'Suspend',
    text: 'Its replicas stop and its URL shows an error page. Settings, variables and releases are kept.',
  },
  archive: {
    word: 'Archive',
    text: 'It cannot be deployed until you restore it. Running replicas keep running.',
  },
};

export function ServiceMenu({ service, path }: { service: Service; path: Path }) {
  const { name } = service;
  const navigate = useNavigate();
  const refusal = useRefusal(path.workspaceId, 'developer');
  const act = useConfirmation(
    (action: Action): Promise<unknown> =>
      action === 'archive' || action === 'restore'
        ? post(`${SERVICE}/${action}`, { path })
        : post(`${SERVICE}/actions`, { path, body: { action } }),
    (_, action) => toast(DONE[action](name)),
  );
  const deletion = useConfirmation(
    (confirm: string) => remove(SERVICE, { path, body: { confirm } }),
    ({ deleted }) => {
      toast(deleted ? `${name} is deleted` : `${name} will be deleted`);
      if (deleted) return navigate({ to: '/w/$workspaceId', params: { workspaceId: path.workspaceId } });
    },
  );
  const question = act.target === null ? undefined : QUESTIONS[act.target];
  const off = refusal !== null || service.status === 'deleting';
  const runs = service.liveDeploymentId !== null && service.lifecycleStatus === 'active';
  return (
    <>
      <Menu label="More actions" trigger="More">
        <MenuGroup label={refusal ?? 'Service'}>
          <MenuItem disabled={off || service.archived} onClick={() => act.write.mutate('clear-cache')}>
            Clear build cache and deploy
          </MenuItem>
          <MenuItem disabled={off || !runs} onClick={() => act.ask('restart')}>
            Restart
          </MenuItem>
          {service.lifecycleStatus === 'suspended' ? (
            <MenuItem disabled={off} onClick={() => act.write.mutate('resume')}>
              Resume
            </MenuItem>
          ) : (
            <MenuItem disabled={off || !runs} onClick={() => act.ask('suspend')}>
              Suspend
            </MenuItem>
          )}
          {service.archived ? (
            <MenuItem disabled={off} onClick={() => act.write.mutate('restore')}>
              Restore
            </MenuItem>
          ) : (
            <MenuItem disabled={off} onClick={() => act.ask('archive')}>
              Archive
            </MenuItem>
          )}
          <MenuSeparator />
          <MenuItem disabled={off} onClick={() => deletion.ask(name)}>
            Delete…
          </MenuItem>
        </MenuGroup>
      </Menu>
      {act.target === null && deletion.target === null && act.write.error ? (
        <ErrorNotice title="The action was refused" error={act.write.error} />
      ) : null}
      <ConfirmDialog {...act.dialog} title={`${question?.word} ${name}?`} action={question?.word ?? ''}>
        {question?.text}
      </ConfirmDialog>
      <ConfirmDialog {...deletion.dialog} title={`Delete ${name}?`} name={name} action="Delete permanently">
        Its replicas, releases, variables and logs are deleted. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}

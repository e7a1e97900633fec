import { Link, Outlet, useParams } from '@tanstack/react-router';
import { useSession } from '../../api/session.js';
import { Tabs } from '../../ui/tabs.js';
import c from '../shell.module.css';
import w from './workspace.module.css';

/** The frame of the pages about the workspace itself. */
export function WorkspaceFrame() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId' });
  const { workspaces } = useSession();
  const params = { workspaceId };
  return (
    <div className={c.page}>
      <h1>{workspaces.find(({ id }) => id === workspaceId)?.name}</h1>
      <Tabs className={w.tabs} label="Pages of the workspace">
        <Link to="/w/$workspaceId/settings" params={params} activeOptions={{ exact: true }}>
          Settings
        </Link>
        <Link to="/w/$workspaceId/settings/usage" params={params}>
          Usage
        </Link>
        <Link to="/w/$workspaceId/settings/members" params={params}>
          Members
        </Link>
        <Link to="/w/$workspaceId/settings/keys" params={params}>
          Keys
        </Link>
        <Link to="/w/$workspaceId/settings/groups" params={params}>
          Groups
        </Link>
        <Link to="/w/$workspaceId/settings/webhooks" params={params}>
          Webhooks
        </Link>
        <Link to="/w/$workspaceId/settings/deploy-key" params={params}>
          Deploy key
        </Link>
        <Link to="/w/$workspaceId/settings/audit" params={params}>
          Audit
        </Link>
      </Tabs>
      <Outlet />
    </div>
  );
}

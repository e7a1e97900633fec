import { Link, Outlet, useParams } from '@tanstack/react-router';
import { useSession } from '../../api/session.js';
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
      <nav className={w.tabs} aria-label="Pages of the workspace">
        <Link to="/w/$workspaceId/settings" params={params} activeOptions={{ exact: true }}>
          Settings and usage
        </Link>
        <Link to="/w/$workspaceId/settings/members" params={params}>
          Members
        </Link>
        <Link to="/w/$workspaceId/settings/keys" params={params}>
          Keys
        </Link>
        <Link to="/w/$workspaceId/settings/audit" params={params}>
          Audit
        </Link>
      </nav>
      <Outlet />
    </div>
  );
}

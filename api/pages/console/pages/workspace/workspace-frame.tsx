import { Link, Outlet } from '@tanstack/react-router';
import { useSession } from '../../api/session.js';
import { Tabs } from '../../ui/tabs.js';
import { useWorkspaceId } from '../page.js';
import c from '../shell.module.css';
import w from './workspace.module.css';

const PAGES = [
  { to: '/w/$workspaceId/settings', text: 'Settings' },
  { to: '/w/$workspaceId/settings/usage', text: 'Usage' },
  { to: '/w/$workspaceId/settings/members', text: 'Members' },
  { to: '/w/$workspaceId/settings/keys', text: 'API keys' },
  { to: '/w/$workspaceId/settings/groups', text: 'Environment groups' },
  { to: '/w/$workspaceId/settings/webhooks', text: 'Webhooks' },
  { to: '/w/$workspaceId/settings/alerts', text: 'Alerts' },
  { to: '/w/$workspaceId/settings/deploy-key', text: 'Deploy key' },
  { to: '/w/$workspaceId/settings/audit', text: 'Audit log' },
] as const;

export function WorkspaceFrame() {
  const workspaceId = useWorkspaceId();
  const { workspaces } = useSession();
  const params = { workspaceId };
  return (
    <div className={c.page}>
      <h1>{workspaces.find(({ id }) => id === workspaceId)?.name}</h1>
      <Tabs className={w.tabs} label="Pages of the workspace">
        {PAGES.map(({ to, text }) => (
          <Link key={to} to={to} params={params} activeOptions={{ exact: to === '/w/$workspaceId/settings' }}>
            {text}
          </Link>
        ))}
      </Tabs>
      <Outlet />
    </div>
  );
}

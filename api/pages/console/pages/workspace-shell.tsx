import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useSilence } from '../api/api-silence.js';
import { useSession } from '../api/session.js';
import { Brand } from '../ui/brand.js';
import { LinkButton } from '../ui/button.js';
import { Menu, MenuGroup, MenuItem, MenuSeparator } from '../ui/menu.js';
import { Glyph } from '../ui/status.js';
import { Tabs } from '../ui/tabs.js';
import { type Theme, useTheme } from '../ui/theme.js';
import { Toasts } from '../ui/toast.js';
import u from '../ui/ui.module.css';
import { OwnInvitations } from './own-invitations.js';
import { useWorkspaceId } from './page.js';
import { QueueCount } from './queue/queue-count.js';
import c from './shell.module.css';
import { takeToken } from './sign-in/take-token.js';
import { NoWorkspace } from './start.js';

const SignIn = lazy(() => import('./sign-in/sign-in-page.js').then(({ SignInPage }) => ({ default: SignInPage })));

const Invitation = lazy(() =>
  import('./sign-in/invitation-page.js').then(({ InvitationPage }) => ({ default: InvitationPage })),
);

/** If the session ends, the page stays mounted below the sign-in form, so that input is not lost. */
export function Gate() {
  const { user, expired } = useSession();
  const [linked, setLinked] = useState(
    () => location.pathname === '/sign-in' && location.hash.length + location.search.length > 1,
  );
  const [invited, setInvited] = useState(() => takeToken('/invitation'));
  const silence = useSilence();
  if (invited !== null) {
    return (
      <Suspense>
        <Invitation token={invited} onDone={() => setInvited(null)} />
      </Suspense>
    );
  }
  if (!user || linked) {
    return (
      <Suspense>
        <SignIn onDone={() => setLinked(false)} />
      </Suspense>
    );
  }
  return (
    <>
      <div className={silence === null ? undefined : c.silent} style={{ display: 'contents' }} inert={expired}>
        <Outlet />
      </div>
      {expired ? (
        <div className={c.over} role="dialog" aria-modal="true" aria-label="Sign in again">
          <Suspense>
            <SignIn reason="Your session has ended. Sign in again: what you typed is still there." />
          </Suspense>
        </div>
      ) : null}
      <Toasts />
    </>
  );
}

export function WorkspaceShell() {
  const workspaceId = useWorkspaceId();
  const { workspaces } = useSession();
  const workspace = workspaces.find(({ id }) => id === workspaceId);
  useEffect(() => {
    document.title = workspace ? `${workspace.name} · Ranvier` : 'Ranvier';
  }, [workspace]);
  const params = { workspaceId };
  // "New" is the primary button in the header (`leads`), except on pages with a primary button of their own.
  const path = useLocation({ select: ({ pathname }) => pathname });
  const leads = !/\/(s\/|new(\/|$)|stacks|settings|account$)/.test(path);
  return (
    <>
      <a href="#main" className={c.skip}>
        Skip to content
      </a>
      <header className={c.header}>
        <Link to="/w/$workspaceId" params={params} className={c.brand}>
          <Brand />
          <span className={u.ellipsis}>{workspace?.name ?? 'Ranvier'}</span>
        </Link>
        <Tabs className={c.nav} label="Workspace">
          <Link to="/w/$workspaceId" params={params} activeOptions={{ exact: true }}>
            Canvas
          </Link>
          <Link to="/w/$workspaceId/services" params={params}>
            Services
          </Link>
          <Link to="/w/$workspaceId/stacks" params={params}>
            Stacks
          </Link>
          <Link to="/w/$workspaceId/queue" params={params}>
            Queue <QueueCount workspaceId={workspaceId} />
          </Link>
          <Link to="/w/$workspaceId/settings" params={params}>
            Workspace
          </Link>
        </Tabs>
        <span className={c.space} />
        <LinkButton look={leads ? 'primary' : 'plain'} small to="/w/$workspaceId/new" params={params}>
          New service
        </LinkButton>
        <UserMenu />
      </header>
      <SilenceBanner />
      <OwnInvitations />
      <main id="main" className={c.main}>
        {workspace ? <Outlet /> : <NoWorkspace />}
      </main>
    </>
  );
}

function SilenceBanner() {
  const silence = useSilence();
  if (silence === null) return null;
  const time = new Date(silence).toLocaleTimeString('en', { timeStyle: 'short' });
  return (
    <div className={c.banner} role="status">
      <Glyph tone="warn" />
      The API does not respond. You see the data of {time}; the console keeps trying.
    </div>
  );
}

const THEMES: Record<Theme, string> = { system: 'System', light: 'Light', dark: 'Dark' };

function UserMenu() {
  const { user, workspaces, signOut } = useSession();
  const [theme, setTheme] = useTheme();
  const workspaceId = useWorkspaceId();
  const navigate = useNavigate();
  return (
    <Menu
      label={`Account of ${user?.email}`}
      small
      trigger={
        <svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" strokeWidth="1.6" aria-hidden>
          <circle cx="8" cy="5.5" r="2.7" />
          <path d="M2.8 14c.6-2.9 2.6-4.3 5.2-4.3s4.600 1.400 5.200 4.300" strokeLinecap="round" />
        </svg>
      }
    >
      <MenuGroup label={user?.email ?? ''}>
        {workspaces.length < 2
          ? null
          : workspaces.map(({ id, name }) => (
              <MenuItem key={id} onClick={() => void navigate({ to: '/w/$workspaceId', params: { workspaceId: id } })}>
                {name}
              </MenuItem>
            ))}
        {workspaces.length < 2 ? null : <MenuSeparator />}
      </MenuGroup>
      <MenuGroup label="Theme">
        {(Object.keys(THEMES) as Theme[]).map((name) => (
          <MenuItem key={name} onClick={() => setTheme(name)}>
            {THEMES[name]}
            {name === theme ? ' ✓' : ''}
          </MenuItem>
        ))}
      </MenuGroup>
      <MenuSeparator />
      <MenuItem onClick={() => void navigate({ to: '/w/$workspaceId/account', params: { workspaceId } })}>
        Account
      </MenuItem>
      <MenuItem onClick={() => window.open('/api/docs', '_blank', 'noreferrer')}>API reference</MenuItem>
      <MenuItem onClick={() => void signOut()}>Sign out</MenuItem>
    </Menu>
  );
}

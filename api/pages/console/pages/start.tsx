import { type ErrorComponentProps, Link, Navigate } from '@tanstack/react-router';
import type { ApiError } from '../api/api-client.js';
import { useSession } from '../api/session.js';
import { Brand } from '../ui/brand.js';
import { Empty, ErrorNotice, Skeleton } from '../ui/states.js';
import { OwnInvitations } from './own-invitations.js';
import c from './shell.module.css';
import { ClosedWorkspaces } from './sign-in/provider.js';

export function StartSkeleton() {
  return (
    <>
      <header className={c.header}>
        <span className={c.brand}>
          <Brand />
          Ranvier
        </span>
      </header>
      <div className={c.page}>
        <Skeleton rows={3} height={64} />
      </div>
    </>
  );
}

export function StartFailed({ error, retry }: { error: ApiError; retry: () => void }) {
  return (
    <main className={c.start}>
      <div className={c.startBox}>
        <ErrorNotice title="The console cannot start" error={error} retry={retry} />
      </div>
    </main>
  );
}

export function Home() {
  const { workspaces } = useSession();
  const [first] = workspaces;
  if (first) return <Navigate to="/w/$workspaceId" params={{ workspaceId: first.id }} replace />;
  return (
    <main className={c.page}>
      <OwnInvitations />
      <ClosedWorkspaces />
      <Empty title="You are not a member of a workspace yet">
        Ask an admin of a workspace to invite you, or the operator to run <code>npm run admin -- member add</code>.
      </Empty>
    </main>
  );
}

export function RouteSkeleton() {
  return (
    <div className={c.page}>
      <Skeleton rows={4} height={56} />
    </div>
  );
}

export function NotFound() {
  return (
    <div className={c.page}>
      <Empty title="Page not found" action={<Link to="/">Go to the canvas</Link>} />
    </div>
  );
}

/** Shown instead of a workspace that the session cannot access. */
export function NoWorkspace() {
  return (
    <>
      <NotFound />
      <div className={c.page}>
        <ClosedWorkspaces />
      </div>
    </>
  );
}

export function RouteFailed({ error, reset }: ErrorComponentProps) {
  return (
    <div className={c.page}>
      <ErrorNotice
        title="This page could not be shown"
        error={error instanceof Error ? error : new Error(String(error))}
        retry={reset}
      />
    </div>
  );
}

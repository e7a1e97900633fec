import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { type ApiError, get, post, remove, setCsrfToken, whenSignedOut } from './api-client.js';
import type { Answer, BodyOf, OperationOf, Role, Schemas, Workspace } from './types.js';
import { queryClient } from './use-api.js';

export type Bootstrap = Answer<OperationOf<'/bootstrap', 'get'>>;
type User = Schemas['User'];

interface Session {
  user: User | null;
  workspaces: Workspace[];
  closedWorkspaces: Bootstrap['closedWorkspaces'];
  provider: Bootstrap['provider'];
  /** True from the end of a session until the next sign-in. */
  expired: boolean;
  welcome: (bootstrap: Bootstrap) => void;
  signOut: () => Promise<void>;
  reload: () => Promise<void>;
}

const SessionContext = createContext<Session | null>(null);

/** Reads the session before anything else is drawn. */
export function SessionProvider({
  children,
  loading,
  failed,
}: {
  children: ReactNode;
  loading: ReactNode;
  failed: (error: ApiError, retry: () => void) => ReactNode;
}) {
  const [known, setKnown] = useState<Bootstrap | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [expired, setExpired] = useState(false);

  const welcome = useCallback((bootstrap: Bootstrap) => {
    setCsrfToken(bootstrap.csrfToken);
    setKnown((before) => {
      // Another user has signed in, who must not see the previous user's cached data.
      if (before?.user && bootstrap.user && before.user.id !== bootstrap.user.id) queryClient.clear();
      return bootstrap;
    });
    setExpired(false);
    setError(null);
  }, []);
  const reload = useCallback(async () => {
    try {
      welcome(await get('/bootstrap', {}));
    } catch (failure) {
      setError(failure as ApiError);
    }
  }, [welcome]);
  const signOut = useCallback(async () => {
    const { providerUrl } = await remove('/session', {});
    queryClient.clear();
    if (providerUrl !== null) return location.assign(providerUrl);
    await reload();
  }, [reload]);

  useEffect(() => {
    whenSignedOut(() => setExpired(true));
    void reload();
  }, [reload]);

  const session = useMemo<Session>(
    () => ({
      user: known?.user ?? null,
      workspaces: known?.workspaces ?? [],
      closedWorkspaces: known?.closedWorkspaces ?? [],
      provider: known?.provider ?? null,
      expired: expired && known?.user != null,
      welcome,
      signOut,
      reload,
    }),
    [known, expired, welcome, signOut, reload],
  );
  if (known) return <SessionContext value={session}>{children}</SessionContext>;
  return error ? failed(error, () => void reload()) : loading;
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('there is no session around this component');
  return session;
}

const ROLES: readonly Role[] = ['viewer', 'developer', 'admin', 'owner'];

/** Returns why the user may not act: an unverified e-mail address, or a role below `needed`. Null if the user may. */
export function useRefusal(workspaceId: string, needed: Role): string | null {
  const { user, workspaces } = useSession();
  const role = workspaces.find(({ id }) => id === workspaceId)?.role ?? 'viewer';
  if (user && !user.emailVerified) return 'Verify your e-mail address first';
  if (ROLES.indexOf(role) < ROLES.indexOf(needed)) return `This needs the role ${needed}; yours is ${role}`;
  return null;
}

export type PasskeyProof = NonNullable<BodyOf<OperationOf<'/session', 'post'>>['passkey']>;
export type FirstProof = { email: string; password: string } | { token: string };

export function signIn(
  first: FirstProof,
  secondFactor: { otp?: string; passkey?: PasskeyProof } = {},
): Promise<Bootstrap> {
  const body = { ...first, ...secondFactor };
  return 'token' in body ? post('/session/link', { body }) : post('/session', { body });
}

export function acceptInvitation(body: { token: string; password: string }): Promise<Bootstrap> {
  return post('/session/invitation', { body });
}

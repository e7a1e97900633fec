import { useSession } from '../../api/session.js';
import { ButtonLink } from '../../ui/button.js';
import { Notice } from '../../ui/states.js';

const FAILURES: Record<string, string> = {
  provider_unavailable: 'The provider does not answer. Try again later, or sign in with your password.',
  provider_refused: 'The provider refused this installation. Its operator can see the reason in the log of the API.',
  denied: 'The sign-in was cancelled at the provider.',
  expired: 'This sign-in was used already, took too long, or began in another browser. Begin again.',
  answer_invalid:
    'The answer of the provider could not be trusted. Its operator can see the reason in the log of the API.',
  email_unverified: 'The provider names no verified e-mail address for you, and you have no account here yet.',
  email_taken: 'An account here has your e-mail address but cannot be linked. Ask the operator of this installation.',
  not_admitted: 'No workspace admits your e-mail address. Ask an admin of a workspace to invite you.',
  rate_limited: 'Too many sign-ins from your network. Try again in some minutes.',
};

export function failureOf({ pathname, search }: Location): string | null {
  const code = new URLSearchParams(search).get('error');
  if (pathname !== '/sign-in' || code === null) return null;
  return FAILURES[code] ?? 'The sign-in failed. Begin again.';
}

export function ProviderButton({ returnTo = location.pathname + location.search }: { returnTo?: string }) {
  const { provider } = useSession();
  if (!provider) return null;
  const path = returnTo.startsWith('/sign-in') ? '/' : returnTo;
  return (
    <ButtonLink href={`${provider.url}?${new URLSearchParams({ returnTo: path })}`}>
      Sign in with {provider.name}
    </ButtonLink>
  );
}

/** Names the user's workspaces that refuse this session, because it was started with a password. */
export function ClosedWorkspaces() {
  const { closedWorkspaces } = useSession();
  if (closedWorkspaces.length === 0) return null;
  return (
    <Notice tone="warn" title="Closed to sessions with a password">
      <p>{closedWorkspaces.map(({ name }) => name).join(', ')}</p>
      <div>
        <ProviderButton />
      </div>
    </Notice>
  );
}

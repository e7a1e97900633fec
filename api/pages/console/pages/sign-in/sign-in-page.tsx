import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, post } from '../../api/api-client.js';
import { type Bootstrap, type FirstProof, type PasskeyProof, signIn, useSession } from '../../api/session.js';
import { Brand } from '../../ui/brand.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { ErrorNotice, Notice } from '../../ui/states.js';
import c from '../shell.module.css';
import { PasskeyButton } from './passkey.js';
import { failureOf, ProviderButton } from './provider.js';
import { takeToken } from './take-token.js';

export function SignInPage({ reason, onDone = () => undefined }: { reason?: string; onDone?: () => void }) {
  const { welcome, user, expired } = useSession();
  const navigate = useNavigate();
  const token = useRef<string | null>(null);
  const [email, setEmail] = useState(expired ? (user?.email ?? '') : '');
  const [password, setPassword] = useState('');
  const [otp, setOtp] = useState('');
  /** The second factors that the API has asked for; null before it asks. */
  const [asked, setAsked] = useState<readonly string[] | null>(null);
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [failure] = useState(() => failureOf(location));

  const enter = useCallback(
    async (bootstrap: Bootstrap) => {
      onDone();
      welcome(bootstrap);
      if (location.pathname === '/sign-in') await navigate({ to: '/', replace: true });
    },
    [welcome, navigate, onDone],
  );
  const submit = useCallback(
    async (first: FirstProof, secondFactor: { otp?: string; passkey?: PasskeyProof }) => {
      setPending(true);
      setError(null);
      try {
        await enter(await signIn(first, secondFactor));
      } catch (failure) {
        if (!(failure instanceof ApiError)) throw failure;
        const wantsMore = failure.code === 'mfa_required';
        if (wantsMore) setAsked(failure.details.map(({ path }) => path));
        setError(wantsMore ? null : failure);
        // The link is invalid or was used already, so the password form is shown.
        if (failure.status === 401 && Object.keys(secondFactor).length === 0) token.current = null;
      } finally {
        setPending(false);
      }
    },
    [enter],
  );

  const begun = useRef(false);
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    document.title = 'Sign in · Ranvier';
    token.current = takeToken('/sign-in');
    // Removes the error code from the URL, so that a reload does not show the failure again.
    if (location.pathname === '/sign-in' && location.search !== '') history.replaceState(history.state, '', '/sign-in');
    if (token.current !== null) void submit({ token: token.current }, {});
  }, [submit]);

  const goOn = () => {
    onDone();
    void navigate({ to: '/', replace: true });
  };
  const first = (): FirstProof => (token.current === null ? { email, password } : { token: token.current });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (!pending) void submit(first(), otp === '' ? {} : { otp });
  };
  const passkeyAlone = async (credential: PasskeyProof) =>
    enter(await post('/session/passkey', { body: { credential } }));
  // If the session expired, the form is shown over a page, which has a <main> already.
  const Frame = expired ? 'section' : 'main';
  return (
    <Frame className={c.start}>
      <div className={c.startBrand}>
        <Brand />
        <h1>Sign in to Ranvier</h1>
      </div>
      <form onSubmit={onSubmit}>
        {reason === undefined ? null : <Notice tone="warn">{reason}</Notice>}
        {failure === null ? null : <Notice tone="bad">{failure}</Notice>}
        {error ? <ErrorNotice error={error} /> : null}
        {asked?.includes('/otp') ? (
          <TextField
            label="Authentication code"
            hint="Six digits of your authenticator app, or a backup code"
            autoComplete="one-time-code"
            maxLength={11}
            autoFocus
            value={otp}
            onChange={(text) => setOtp(text.trim().toLowerCase())}
          />
        ) : null}
        {asked === null ? (
          <>
            <TextField
              label="E-mail address"
              type="email"
              autoComplete="username"
              autoFocus={email === ''}
              required
              value={email}
              onChange={setEmail}
            />
            <TextField
              label="Password"
              type="password"
              autoComplete="current-password"
              autoFocus={email !== ''}
              required
              value={password}
              onChange={setPassword}
            />
          </>
        ) : null}
        {asked === null || asked.includes('/otp') ? (
          <Button look="primary" type="submit" pending={pending}>
            {pending ? 'Signing in…' : 'Sign in'}
          </Button>
        ) : null}
        <ProviderButton />
        {asked === null ? <PasskeyButton onProof={passkeyAlone} /> : null}
        {asked?.includes('/passkey') ? (
          <PasskeyButton first={first()} onProof={(passkey) => submit(first(), { passkey })} />
        ) : null}
      </form>
      {user && !expired ? (
        <Button look="quiet" onClick={goOn}>
          Go on as {user.email}
        </Button>
      ) : null}
    </Frame>
  );
}

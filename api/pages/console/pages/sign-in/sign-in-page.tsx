import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react';
import { ApiError } from '../../api/api-client.js';
import { signIn, signInWithLink, useSession } from '../../api/session.js';
import { Brand } from '../../ui/brand.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { ErrorNotice, Notice } from '../../ui/states.js';
import c from '../shell.module.css';

/** Returns the token of a one-time link, and removes it from the URL and so from the browser's history. */
function takeToken(): string | null {
  if (location.pathname !== '/sign-in' || location.hash.length < 2) return null;
  const token = location.hash.slice(1);
  history.replaceState(history.state, '', '/sign-in');
  return token;
}

/** Signs in by one-time link or password, and with a code if the account has a second factor. */
export function SignInPage({ reason, onDone = () => undefined }: { reason?: string; onDone?: () => void }) {
  const { welcome, user, expired } = useSession();
  const navigate = useNavigate();
  const token = useRef<string | null>(null);
  const [email, setEmail] = useState(expired ? (user?.email ?? '') : '');
  const [password, setPassword] = useState('');
  const [otp, setOtp] = useState('');
  const [asksCode, setAsksCode] = useState(false);
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);

  const submit = useCallback(
    async (given: { email: string; password: string; otp: string }) => {
      setPending(true);
      setError(null);
      const code = given.otp === '' ? {} : { otp: given.otp };
      try {
        const bootstrap = await (token.current === null
          ? signIn({ email: given.email, password: given.password, ...code })
          : signInWithLink({ token: token.current, ...code }));
        onDone();
        welcome(bootstrap);
        if (location.pathname === '/sign-in') await navigate({ to: '/', replace: true });
      } catch (failure) {
        if (!(failure instanceof ApiError)) throw failure;
        const wantsCode = failure.code === 'mfa_required';
        setAsksCode((before) => before || wantsCode);
        setError(wantsCode ? null : failure);
        // The link was used already or is wrong: show the password form instead.
        if (failure.status === 401 && given.otp === '') token.current = null;
      } finally {
        setPending(false);
      }
    },
    [welcome, navigate, onDone],
  );

  const begun = useRef(false);
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    document.title = 'Sign in · Ranvier';
    token.current = takeToken();
    if (token.current !== null) void submit({ email: '', password: '', otp: '' });
  }, [submit]);

  const goOn = () => {
    onDone();
    void navigate({ to: '/', replace: true });
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (!pending) void submit({ email, password, otp });
  };
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
        {error ? <ErrorNotice error={error} /> : null}
        {asksCode ? (
          <TextField
            label="Authentication code"
            hint="Six digits"
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={6}
            autoFocus
            value={otp}
            onChange={(event) => setOtp(event.target.value.replace(/\D/g, ''))}
          />
        ) : (
          <>
            <TextField
              label="E-mail address"
              type="email"
              autoComplete="username"
              autoFocus={email === ''}
              required
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
            <TextField
              label="Password"
              type="password"
              autoComplete="current-password"
              autoFocus={email !== ''}
              required
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          </>
        )}
        <Button look="primary" type="submit" pending={pending}>
          {pending ? 'Signing in…' : 'Sign in'}
        </Button>
      </form>
      {user && !expired ? (
        <Button look="quiet" onClick={goOn}>
          Go on as {user.email}
        </Button>
      ) : null}
    </Frame>
  );
}

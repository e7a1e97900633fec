import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../../api/api-client.js';
import { acceptInvitation, useSession } from '../../api/session.js';
import { Brand } from '../../ui/brand.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { ErrorNotice, Notice } from '../../ui/states.js';
import c from '../shell.module.css';

/** Minimum length of a password, in characters. The API enforces the same minimum. */
const MIN_PASSWORD_LENGTH = 8;

/** An invited person chooses a password here, and becomes a member. */
export function InvitationPage({ token, onDone }: { token: string; onDone: () => void }) {
  const { welcome, user } = useSession();
  const navigate = useNavigate();
  const [password, setPassword] = useState('');
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const ready = password.length >= MIN_PASSWORD_LENGTH;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready || pending) return;
    setPending(true);
    setError(null);
    try {
      const bootstrap = await acceptInvitation({ token, password });
      onDone();
      welcome(bootstrap);
      await navigate({ to: '/', replace: true });
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure);
      setPending(false);
    }
  };
  return (
    <main className={c.start}>
      <div className={c.startBrand}>
        <Brand />
        <h1>You are invited to Ranvier</h1>
      </div>
      <form onSubmit={(event) => void submit(event)}>
        {user ? (
          <Notice tone="warn">You are signed in as {user.email}. The invitation makes another account.</Notice>
        ) : null}
        {error ? <ErrorNotice error={error} /> : null}
        <TextField
          label="Choose a password"
          hint={`At least ${MIN_PASSWORD_LENGTH} characters. You sign in with the e-mail address that the invitation was sent to`}
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button look="primary" type="submit" pending={pending} disabled={!ready}>
          {pending ? 'Creating your account…' : 'Join'}
        </Button>
      </form>
      <Button
        look="quiet"
        onClick={() => {
          onDone();
          void navigate({ to: '/', replace: true });
        }}
      >
        {user ? `Continue as ${user.email}` : 'I have an account already'}
      </Button>
    </main>
  );
}

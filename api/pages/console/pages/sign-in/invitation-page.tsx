import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { acceptInvitation, useSession } from '../../api/session.js';
import { useWrite } from '../../api/use-api.js';
import { Brand } from '../../ui/brand.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { WriteForm } from '../../ui/form.js';
import { ErrorNotice, Notice } from '../../ui/states.js';
import c from '../shell.module.css';

/** Minimum length of a password, in characters. The API enforces the same minimum. */
const MIN_PASSWORD_LENGTH = 8;

export function InvitationPage({ token, onDone }: { token: string; onDone: () => void }) {
  const { welcome, user } = useSession();
  const navigate = useNavigate();
  const [password, setPassword] = useState('');
  const join = useWrite(
    () => acceptInvitation({ token, password }),
    (bootstrap) => {
      onDone();
      welcome(bootstrap);
      return navigate({ to: '/', replace: true });
    },
  );
  const ready = password.length >= MIN_PASSWORD_LENGTH;
  return (
    <main className={c.start}>
      <div className={c.startBrand}>
        <Brand />
        <h1>You are invited to Ranvier</h1>
      </div>
      <WriteForm write={join} ready={ready}>
        {user ? (
          <Notice tone="warn">You are signed in as {user.email}. The invitation makes another account.</Notice>
        ) : null}
        {join.error ? <ErrorNotice error={join.error} /> : null}
        <TextField
          label="Choose a password"
          hint={`At least ${MIN_PASSWORD_LENGTH} characters. You sign in with the e-mail address that the invitation was sent to`}
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={setPassword}
        />
        <Button look="primary" type="submit" pending={join.isPending} disabled={!ready}>
          {join.isPending ? 'Creating your account…' : 'Join'}
        </Button>
      </WriteForm>
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

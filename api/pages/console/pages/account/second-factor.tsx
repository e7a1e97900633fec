import { useState } from 'react';
import { post, remove, setCsrfToken } from '../../api/api-client.js';
import { useSession } from '../../api/session.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { QrCode } from '../../ui/qr-code.js';
import { ErrorNotice } from '../../ui/states.js';
import { Status } from '../../ui/status.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import { BackupCodes } from './backup-codes.js';
import { CodeForm } from './code-form.js';

/** Turns the second factor on or off: a code of an authenticator application in addition to the password. */
export function SecondFactor({ enabled }: { enabled: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <section className={u.card}>
      <div className={u.cardHead}>
        <h2>Two-factor authentication</h2>
        <Status tone={enabled ? 'good' : 'plain'}>{enabled ? 'On' : 'Off'}</Status>
      </div>
      <div className={`${u.cardBody} ${u.stack}`}>
        <p>
          {enabled
            ? 'Signing in requires a code from your authenticator app. If you lose it, sign in with a backup code, or ask the operator of this installation to reset it.'
            : 'Signing in then also requires a code from an authenticator app. Your other sessions end when you turn it on.'}
        </p>
        {enabled ? <BackupCodes /> : null}
        <div>
          <Button look={enabled ? 'plain' : 'primary'} onClick={() => setOpen(true)}>
            {enabled ? 'Turn off' : 'Turn on'}
          </Button>
        </div>
      </div>
      {/* The dialog is mounted only while open, so that password and secret do not stay in memory. */}
      {open ? enabled ? <Remove onClose={() => setOpen(false)} /> : <Enrol onClose={() => setOpen(false)} /> : null}
    </section>
  );
}

/** Returns a callback for a change of the second factor, after which the session has a new cookie and CSRF token. */
function useRotation(onClose: () => void, text: string) {
  const { reload } = useSession();
  return async ({ csrfToken }: { csrfToken: string }) => {
    setCsrfToken(csrfToken);
    onClose();
    toast(text);
    await reload();
  };
}

function Enrol({ onClose }: { onClose: () => void }) {
  const { user } = useSession();
  const needsPassword = user?.hasPassword !== false;
  const [password, setPassword] = useState('');
  const [secret, setSecret] = useState<{ secret: string; otpauthUri: string } | null>(null);
  const begin = useWrite(() => post('/session/mfa', { body: needsPassword ? { password } : {} }), {
    onDone: (answer) => {
      setPassword('');
      setSecret(answer);
      begin.reset();
    },
  });
  const done = useRotation(onClose, 'Two-factor authentication is on');
  return (
    <Dialog title="Turn on two-factor authentication" open onClose={onClose}>
      {secret === null ? (
        <WriteForm className={u.stack} write={begin} ready={password !== '' || !needsPassword}>
          {needsPassword ? (
            <TextField
              label="Your password"
              type="password"
              autoComplete="current-password"
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          ) : (
            <p>Without a password, this works within ten minutes of signing in.</p>
          )}
          {begin.error ? <ErrorNotice error={begin.error} /> : null}
          <DialogFoot>
            <Button onClick={onClose}>Cancel</Button>
            <Button look="primary" type="submit" disabled={password === '' && needsPassword} pending={begin.isPending}>
              Continue
            </Button>
          </DialogFoot>
        </WriteForm>
      ) : (
        <>
          <ol className={u.stack}>
            <li>
              1. Scan this code with your authenticator app,{' '}
              <a className={u.textLink} href={secret.otpauthUri}>
                open it there
              </a>{' '}
              on this device, or type the secret.
              <div>
                <QrCode text={secret.otpauthUri} title="The secret as a QR code" />
              </div>
              <div className={u.actions}>
                <code>{secret.secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
                <CopyButton text={secret.secret} what="the secret" />
              </div>
            </li>
            <li>2. Enter the code that it shows.</li>
          </ol>
          <CodeForm
            action="Turn on"
            write={(code) => post('/session/mfa/confirm', { body: { code } })}
            onDone={done}
            onClose={onClose}
          />
        </>
      )}
    </Dialog>
  );
}

function Remove({ onClose }: { onClose: () => void }) {
  const done = useRotation(onClose, 'Two-factor authentication is off');
  return (
    <Dialog title="Turn off two-factor authentication?" open onClose={onClose}>
      <p>Signing in then requires only your password. Your other sessions end.</p>
      <CodeForm
        action="Turn off"
        write={(code) => remove('/session/mfa', { body: { code } })}
        onDone={done}
        onClose={onClose}
      />
    </Dialog>
  );
}

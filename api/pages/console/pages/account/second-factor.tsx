import { useState } from 'react';
import { post, remove, setCsrfToken } from '../../api/api-client.js';
import { useSession } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog, DialogFoot, DialogForm } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { QrCode } from '../../ui/qr-code.js';
import { Status } from '../../ui/status.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';

export function SecondFactor({ enabled }: { enabled: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <Card
      title="Two-factor authentication"
      actions={<Status tone={enabled ? 'good' : 'plain'}>{enabled ? 'On' : 'Off'}</Status>}
    >
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
    </Card>
  );
}

/** A change of the second factor gives the session a new CSRF token. */
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
  const begin = useWrite(
    () => post('/session/mfa', { body: needsPassword ? { password } : {} }),
    (answer) => {
      setPassword('');
      setSecret(answer);
      begin.reset();
    },
  );
  const done = useRotation(onClose, 'Two-factor authentication is on');
  return (
    <Dialog title="Turn on two-factor authentication" open onClose={onClose}>
      {secret === null ? (
        <DialogForm write={begin} ready={password !== '' || !needsPassword} action="Continue" onClose={onClose}>
          {needsPassword ? (
            <TextField
              label="Your password"
              type="password"
              autoComplete="current-password"
              value={password}
              onChange={setPassword}
            />
          ) : (
            <p>Without a password, this works within ten minutes of signing in.</p>
          )}
        </DialogForm>
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

function BackupCodes() {
  const [open, setOpen] = useState(false);
  const { data } = useGet('/session/mfa', {}, { poll: false });
  const left = data?.backupCodes ?? 0;
  return (
    <>
      <p>
        {left === 0
          ? 'You have no backup codes. If you lose your authenticator, only the operator can let you in.'
          : `You have ${left} backup ${left === 1 ? 'code' : 'codes'}.`}
      </p>
      <div>
        <Button onClick={() => setOpen(true)}>{left === 0 ? 'Make backup codes' : 'Replace backup codes'}</Button>
      </div>
      {open ? <MakeBackupCodes onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function MakeBackupCodes({ onClose }: { onClose: () => void }) {
  const [codes, setCodes] = useState<string[] | null>(null);
  return (
    <Dialog title="Backup codes" open onClose={onClose}>
      {codes === null ? (
        <CodeForm
          action="Make codes"
          write={(code) => post('/session/mfa/backup-codes', { body: { code } })}
          onDone={({ codes: made }) => setCodes(made)}
          onClose={onClose}
        />
      ) : (
        <>
          <p>Each code signs you in once in place of the authenticator. Keep them; they are not shown again.</p>
          <pre>{codes.join('\n')}</pre>
          <DialogFoot>
            <CopyButton text={codes.join('\n')} what="the codes" />
            <Button look="primary" onClick={onClose}>
              Done
            </Button>
          </DialogFoot>
        </>
      )}
    </Dialog>
  );
}

function CodeForm<Answer>({
  action,
  write,
  onDone,
  onClose,
}: {
  action: string;
  write: (code: string) => Promise<Answer>;
  onDone: (answer: Answer) => unknown;
  onClose: () => void;
}) {
  const [code, setCode] = useState('');
  const send = useWrite(() => write(code), onDone);
  const ready = /^(\d{6}|[a-z0-9]{5}-[a-z0-9]{5})$/.test(code);
  return (
    <DialogForm write={send} ready={ready} action={action} onClose={onClose}>
      <TextField
        label="Authentication code"
        hint="Of your authenticator app, or a backup code"
        autoComplete="one-time-code"
        maxLength={11}
        value={code}
        onChange={(text) => setCode(text.trim().toLowerCase())}
      />
    </DialogForm>
  );
}

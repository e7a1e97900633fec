import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useGet } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { CodeForm } from './code-form.js';

/**
 * Shows how many backup codes are left, and makes new ones. A backup code replaces one code of a lost authenticator.
 */
export function BackupCodes() {
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
      {open ? <Make onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function Make({ onClose }: { onClose: () => void }) {
  const [codes, setCodes] = useState<string[] | null>(null);
  return (
    <Dialog title="Backup codes" open onClose={onClose}>
      {codes === null ? (
        <CodeForm
          action="Make codes"
          write={(code) => post('/session/mfa/backup-codes', { body: { code } })}
          onDone={async ({ codes: made }) => setCodes(made)}
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

import { useState } from 'react';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { DialogFoot } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';

/** Asks for the current code of the authenticator, or for a backup code, and sends it. */
export function CodeForm<Answer>({
  action,
  write,
  onDone,
  onClose,
}: {
  action: string;
  write: (code: string) => Promise<Answer>;
  onDone: (answer: Answer) => Promise<void>;
  onClose: () => void;
}) {
  const [code, setCode] = useState('');
  const send = useWrite(() => write(code), { onDone });
  const ready = /^(\d{6}|[a-z0-9]{5}-[a-z0-9]{5})$/.test(code);
  return (
    <WriteForm className={u.stack} write={send} ready={ready}>
      <TextField
        label="Authentication code"
        hint="Of your authenticator app, or a backup code"
        autoComplete="one-time-code"
        maxLength={11}
        value={code}
        onChange={(event) => setCode(event.target.value.trim().toLowerCase())}
      />
      {send.error ? <ErrorNotice error={send.error} /> : null}
      <DialogFoot>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" disabled={!ready} pending={send.isPending}>
          {action}
        </Button>
      </DialogFoot>
    </WriteForm>
  );
}

import type { ReactNode } from 'react';
import { Button } from './button.js';
import { CopyButton } from './copy.js';
import { Dialog, DialogFoot } from './dialog.js';
import { TextField } from './field.js';
import o from './overlay.module.css';

/** Texts that the API answers once, such as a new secret. They are gone from the page when it is closed. */
export function SecretDialog({
  title,
  secrets,
  onClose,
  children,
}: {
  title: string;
  /** Null while there is nothing to show. */
  secrets: readonly { label: string; value: string }[] | null;
  onClose: () => void;
  children?: ReactNode;
}) {
  return (
    <Dialog title={title} open={secrets !== null} onClose={onClose}>
      <p>Copy it now: it is shown only once.</p>
      {children}
      {secrets?.map(({ label, value }) => (
        <div key={label} className={o.secret}>
          <TextField label={label} readOnly value={value} onFocus={(event) => event.target.select()} />
          <CopyButton text={value} what={label.toLowerCase()} />
        </div>
      ))}
      <DialogFoot>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogFoot>
    </Dialog>
  );
}

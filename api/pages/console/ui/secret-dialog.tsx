import type { ReactNode } from 'react';
import { Button } from './button.js';
import { CopyButton } from './copy.js';
import { Dialog, DialogFoot } from './dialog.js';
import { TextField } from './field.js';
import o from './overlay.module.css';

/** Shows secrets that the API returns only once. Closing the dialog removes them from the page. */
export function SecretDialog({
  title,
  secrets,
  onClose,
  children,
}: {
  title: string;
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

import { Dialog as Base } from '@base-ui/react/dialog';
import { type FormEvent, type ReactNode, useState } from 'react';
import type { ApiError } from '../api/api-client.js';
import { Button } from './button.js';
import { TextField } from './field.js';
import o from './overlay.module.css';
import { ErrorNotice } from './states.js';
import s from './ui.module.css';

/** A modal dialog. Escape and the Close button close it, and the focus returns to where it was. */
export function Dialog({
  title,
  open,
  onClose,
  wide = false,
  children,
}: {
  title: string;
  open: boolean;
  onClose: () => void;
  wide?: boolean;
  children: ReactNode;
}) {
  return (
    <Base.Root open={open} onOpenChange={(now) => (now ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className={o.backdrop} />
        <Base.Popup className={`${o.dialog} ${wide ? o.wide : ''}`}>
          <Base.Title className={o.title} render={<h1>{title}</h1>} />
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

export function DialogFoot({ children }: { children: ReactNode }) {
  return <div className={o.foot}>{children}</div>;
}

/** Asks for confirmation. With `name`, the user must type the name, because the action cannot be undone. */
export function ConfirmDialog({
  title,
  name,
  action,
  open,
  onClose,
  onConfirm,
  write: { isPending, error },
  children,
}: {
  title: string;
  /** The text that the user must type; a click suffices if absent. */
  name?: string;
  action: string;
  open: boolean;
  onClose: () => void;
  onConfirm: () => void;
  /** State of the write that `onConfirm` starts. */
  write: { isPending: boolean; error: ApiError | null };
  children: ReactNode;
}) {
  const [typed, setTyped] = useState('');
  const ready = name === undefined || typed === name;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (ready && !isPending) onConfirm();
  };
  return (
    <Dialog title={title} open={open} onClose={onClose}>
      <form className={s.stack} onSubmit={submit}>
        <div>{children}</div>
        {name === undefined ? null : (
          <TextField
            label={`Type ${name} to confirm`}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
        {error ? <ErrorNotice error={error} /> : null}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" type="submit" disabled={!ready} pending={isPending}>
            {action}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

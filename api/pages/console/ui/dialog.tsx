import { Dialog as Base } from '@base-ui/react/dialog';
import { type ReactNode, useState } from 'react';
import type { ApiError } from '../api/api-client.js';
import { useWrite } from '../api/use-api.js';
import { Button } from './button.js';
import { TextField } from './field.js';
import { type FormWrite, WriteForm } from './form.js';
import o from './overlay.module.css';
import { ErrorNotice } from './states.js';
import s from './ui.module.css';

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

export function DialogForm({
  write,
  ready = true,
  action,
  failure,
  look = 'primary',
  more,
  onClose,
  children,
}: {
  write: FormWrite;
  ready?: boolean;
  action: string;
  /** Title of the notice that shows why the write failed; the API's message if absent. */
  failure?: string;
  look?: 'primary' | 'danger';
  /** A button between Cancel and the button that sends the form. */
  more?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <WriteForm className={s.stack} write={write} ready={ready}>
      {children}
      {write.error ? <ErrorNotice title={failure} error={write.error} /> : null}
      <DialogFoot>
        <Button onClick={onClose}>Cancel</Button>
        {more}
        <Button look={look} type="submit" disabled={!ready} pending={write.isPending}>
          {action}
        </Button>
      </DialogFoot>
    </WriteForm>
  );
}

interface Confirmation {
  open: boolean;
  onClose: () => void;
  onConfirm: () => void;
  write: { isPending: boolean; error: ApiError | null };
}

/** Asks for confirmation. With `name`, the user must type the name, because the action cannot be undone. */
export function ConfirmDialog({
  title,
  name,
  action,
  open,
  onClose,
  onConfirm,
  write,
  children,
}: Confirmation & {
  title: string;
  name?: string;
  action: string;
  children: ReactNode;
}) {
  const [typed, setTyped] = useState('');
  // Without this reset, the name would be typed already when the dialog opens again.
  if (!open && typed !== '') setTyped('');
  const form = { write: { ...write, mutate: onConfirm }, ready: name === undefined || typed === name };
  return (
    <Dialog title={title} open={open} onClose={onClose}>
      <DialogForm {...form} look="danger" action={action} onClose={onClose}>
        <div>{children}</div>
        {name === undefined ? null : <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} />}
      </DialogForm>
    </Dialog>
  );
}

/** `ask` opens the dialog about a target. The dialog closes when the write is done. */
export function useConfirmation<Target, Result>(
  send: (target: Target) => Promise<Result>,
  onDone?: (answer: Result, target: Target) => unknown,
) {
  const [target, setTarget] = useState<Target | null>(null);
  const write = useWrite(send, (answer, sent) => {
    setTarget(null);
    return onDone?.(answer, sent);
  });
  const ask = (next: Target) => {
    write.reset();
    setTarget(next);
  };
  const dialog: Confirmation = {
    open: target !== null,
    onClose: () => setTarget(null),
    onConfirm: () => target !== null && write.mutate(target),
    write,
  };
  return { target, ask, write, dialog };
}

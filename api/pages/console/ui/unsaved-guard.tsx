import { useBlocker } from '@tanstack/react-router';
import { Button } from './button.js';
import { Dialog, DialogFoot } from './dialog.js';

export function UnsavedGuard({ dirty }: { dirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: () => dirty,
    enableBeforeUnload: dirty,
    withResolver: true,
  });
  return (
    <Dialog title="Leave without saving?" open={status === 'blocked'} onClose={() => reset?.()}>
      <p>Your changes on this page are not saved.</p>
      <DialogFoot>
        <Button look="danger" onClick={() => proceed?.()}>
          Leave
        </Button>
        <Button look="primary" onClick={() => reset?.()}>
          Stay
        </Button>
      </DialogFoot>
    </Dialog>
  );
}

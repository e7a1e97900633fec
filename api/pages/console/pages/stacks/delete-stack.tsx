import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { CheckField } from '../../ui/field.js';
import u from '../../ui/ui.module.css';

/** A button that deletes a stack. In its dialog, the user chooses if the services, databases and groups are kept. */
export function DeleteStack({ path }: { path: { workspaceId: string; stackName: string } }) {
  const { workspaceId, stackName } = path;
  const navigate = useNavigate();
  const refusal = useRefusal(workspaceId, 'developer');
  const [asked, setAsked] = useState(false);
  const [keep, setKeep] = useState(true);
  const erase = useWrite(
    () => remove('/workspaces/{workspaceId}/stacks/{stackName}', { path, body: { confirm: stackName, keep } }),
    {
      onDone: ({ apply }) =>
        apply === null
          ? navigate({ to: '/w/$workspaceId/stacks', params: { workspaceId } })
          : navigate({
              to: '/w/$workspaceId/stacks/$stackName/applies/$applyId',
              params: { ...path, applyId: apply.id },
            }),
    },
  );
  return (
    <>
      <Button
        refusal={refusal}
        onClick={() => {
          erase.reset();
          setAsked(true);
        }}
      >
        Delete…
      </Button>
      <ConfirmDialog
        title={`Delete ${stackName}?`}
        name={stackName}
        action={keep ? 'Forget the stack' : 'Delete permanently'}
        open={asked}
        onClose={() => setAsked(false)}
        onConfirm={() => erase.mutate()}
        write={erase}
      >
        <div className={u.stack}>
          <CheckField
            label="Keep what it owns"
            hint="Only the stack is forgotten. Its services, databases and groups go on."
            checked={keep}
            onChange={(event) => setKeep(event.target.checked)}
          />
          {keep ? null : <p>Its services, databases and groups are deleted, with their data.</p>}
        </div>
      </ConfirmDialog>
    </>
  );
}

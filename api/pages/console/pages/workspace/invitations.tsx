import { useState } from 'react';
import { remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import w from './workspace.module.css';

const PATH = '/workspaces/{workspaceId}/invitations';

/**
 * The open invitations to the workspace. Shows nothing if there are none, or if the user may not see them (`refusal`).
 */
export function Invitations({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const [leaving, setLeaving] = useState<Schemas['Invitation'] | null>(null);
  const { data } = useGet(PATH, { path: { workspaceId } }, { enabled: refusal === null });
  const withdraw = useWrite(
    (invitationId: string) => remove(`${PATH}/{invitationId}`, { path: { workspaceId, invitationId } }),
    { onDone: () => setLeaving(null) },
  );
  const invitations = data?.invitations ?? [];
  if (invitations.length === 0) return null;
  return (
    <section className={u.card}>
      <div className={u.cardHead}>
        <h2>Invited</h2>
      </div>
      <ul>
        {invitations.map((invitation) => (
          <li key={invitation.id} className={w.member}>
            <div className={w.who}>
              <strong>{invitation.email}</strong>
              <span className={u.dim}>
                {invitation.role}, by {invitation.invitedBy} <Ago at={invitation.createdAt} />
              </span>
            </div>
            <span className={u.dim}>
              expires <Ago at={invitation.expiresAt} />
            </span>
            <Button
              small
              refusal={refusal}
              aria-label={`Withdraw ${invitation.email}`}
              onClick={() => setLeaving(invitation)}
            >
              Withdraw
            </Button>
          </li>
        ))}
      </ul>
      <ConfirmDialog
        title={`Withdraw the invitation for ${leaving?.email}?`}
        action="Withdraw"
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        onConfirm={() => leaving && withdraw.mutate(leaving.id)}
        write={withdraw}
      >
        The link in the e-mail no longer works.
      </ConfirmDialog>
    </section>
  );
}

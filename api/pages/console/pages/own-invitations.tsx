import { post } from '../api/api-client.js';
import { useSession } from '../api/session.js';
import { useGet, useWrite } from '../api/use-api.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/states.js';
import u from '../ui/ui.module.css';
import c from './shell.module.css';

const PATH = '/session/invitations';

export function OwnInvitations() {
  const { reload } = useSession();
  const { data } = useGet(PATH, {});
  const answer = useWrite(
    (body: { invitationId: string; accept: boolean }) => post(PATH, { body }),
    () => void reload(),
  );
  return (
    <>
      {answer.error ? <ErrorNotice title="The invitation was not answered" error={answer.error} /> : null}
      {(data?.invitations ?? []).map(({ id, workspaceName, role, invitedBy }) => (
        <div key={id} className={c.banner} role="status">
          {invitedBy} invites you to the workspace {workspaceName} as {role}.
          <span className={u.actions}>
            <Button small pending={answer.isPending} onClick={() => answer.mutate({ invitationId: id, accept: true })}>
              Accept
            </Button>
            <Button small pending={answer.isPending} onClick={() => answer.mutate({ invitationId: id, accept: false })}>
              Decline
            </Button>
          </span>
        </div>
      ))}
    </>
  );
}

import { useState } from 'react';
import { patch, post, remove } from '../../api/api-client.js';
import { useRefusal, useSession } from '../../api/session.js';
import type { Role, Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Items, ListCard, Row } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { WriteForm } from '../../ui/form.js';
import { ErrorNotice, Notice, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { useWorkspaceId } from '../page.js';
import { SignInSettings } from './sign-in-settings.js';
import w from './workspace.module.css';

const PATH = '/workspaces/{workspaceId}/members';
const INVITATIONS = '/workspaces/{workspaceId}/invitations';
const ROLES: readonly { value: Role; text: string }[] = [
  { value: 'viewer', text: 'Viewer: can read' },
  { value: 'developer', text: 'Developer: can deploy' },
  { value: 'admin', text: 'Admin: can manage members' },
  { value: 'owner', text: 'Owner: can do everything' },
];

export function MembersPage() {
  const workspaceId = useWorkspaceId();
  const { user } = useSession();
  const refusal = useRefusal(workspaceId, 'admin');
  const path = { workspaceId };
  const query = useGet(PATH, { path });
  const change = useWrite(({ memberId, role }: { memberId: string; role: Role }) =>
    patch(`${PATH}/{memberId}`, { path: { ...path, memberId }, body: { role } }),
  );
  const { ask, target, dialog } = useConfirmation(
    ({ id }: Schemas['Member']) => remove(`${PATH}/{memberId}`, { path: { ...path, memberId: id } }),
    (_, { email }) => toast(`${email} is no longer a member`),
  );
  return (
    <>
      {change.error ? <ErrorNotice title="The role was not changed" error={change.error} /> : null}
      <ListCard
        query={query}
        skeleton={<Skeleton rows={3} height={56} />}
        items={({ members }) => members}
        add={<AddMember workspaceId={workspaceId} refusal={refusal} />}
      >
        {(member) => {
          const end = member.email === user?.email ? 'Leave' : 'Remove';
          return (
            <Row
              title={member.email}
              detail={
                <>
                  since <Ago at={member.createdAt} />
                  {member.mfaEnabled ? ', two-factor authentication' : ''}
                  {member.emailVerified ? '' : ', e-mail not verified'}
                </>
              }
              aside={
                <select
                  className={u.input}
                  aria-label={`Role of ${member.email}`}
                  disabled={refusal !== null || change.isPending}
                  title={refusal ?? undefined}
                  value={member.role}
                  onChange={(event) => change.mutate({ memberId: member.id, role: event.target.value as Role })}
                >
                  {ROLES.map(({ value, text }) => (
                    <option key={value} value={value}>
                      {text}
                    </option>
                  ))}
                </select>
              }
            >
              <Button small refusal={refusal} aria-label={`${end} ${member.email}`} onClick={() => ask(member)}>
                {end}
              </Button>
            </Row>
          );
        }}
      </ListCard>
      <Invitations workspaceId={workspaceId} refusal={refusal} />
      <SignInSettings workspaceId={workspaceId} refusal={refusal} />
      <ConfirmDialog {...dialog} title={`Remove ${target?.email}?`} action="Remove">
        The member loses access, and the member’s keys are revoked. Deployments are kept.
      </ConfirmDialog>
    </>
  );
}

function AddMember({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const [typed, setTyped] = useState('');
  const [role, setRole] = useState<Role>('developer');
  const email = typed.trim();
  const input = { path: { workspaceId }, body: { email, role } };
  const add = useWrite(
    () => post(PATH, input),
    () => {
      toast(`${email} was invited and sees the invitation in the console`);
      setTyped('');
    },
  );
  const invite = useWrite(
    () => post(INVITATIONS, input),
    ({ sent }) => {
      if (!sent) return;
      toast(`${email} was sent an e-mail`);
      add.reset();
      setTyped('');
    },
  );
  const disabled = refusal !== null;
  return (
    <WriteForm className={w.add} write={add} ready={email !== ''}>
      <TextField
        label="E-mail address"
        type="email"
        hint="They accept the invitation in the console, or by e-mail if they have no account"
        disabled={disabled}
        value={typed}
        onChange={(text) => {
          setTyped(text);
          add.reset();
          invite.reset();
        }}
      />
      <SelectField label="Role" options={ROLES} disabled={disabled} value={role} onChange={setRole} />
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={email === ''}>
        Invite member
      </Button>
      {add.error?.status === 404 ? (
        <Notice tone="plain" title={`${email} has no account here`}>
          <div className={u.actions}>
            <Button small pending={invite.isPending} onClick={() => invite.mutate()}>
              Invite by e-mail
            </Button>
          </div>
        </Notice>
      ) : add.error ? (
        <ErrorNotice title="The member was not invited" error={add.error} />
      ) : null}
      {invite.error ? <ErrorNotice title="The invitation was not sent" error={invite.error} /> : null}
      {invite.data?.sent === false ? (
        <Notice tone="warn">The mail server refused the e-mail. Try again later.</Notice>
      ) : null}
    </WriteForm>
  );
}

function Invitations({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const { data } = useGet(INVITATIONS, { path: { workspaceId } }, { enabled: refusal === null });
  const { ask, target, dialog } = useConfirmation(({ id }: Schemas['Invitation']) =>
    remove(`${INVITATIONS}/{invitationId}`, { path: { workspaceId, invitationId: id } }),
  );
  const invitations = data?.invitations ?? [];
  if (invitations.length === 0) return null;
  return (
    <Card title="Invited">
      <Items items={invitations}>
        {(invitation) => (
          <Row
            title={invitation.email}
            detail={
              <>
                {invitation.role}, by {invitation.invitedBy} <Ago at={invitation.createdAt} />
              </>
            }
            aside={
              <span className={u.dim}>
                expires <Ago at={invitation.expiresAt} />
              </span>
            }
          >
            <Button small refusal={refusal} aria-label={`Withdraw ${invitation.email}`} onClick={() => ask(invitation)}>
              Withdraw
            </Button>
          </Row>
        )}
      </Items>
      <ConfirmDialog {...dialog} title={`Withdraw the invitation for ${target?.email}?`} action="Withdraw">
        The link in the e-mail no longer works.
      </ConfirmDialog>
    </Card>
  );
}

import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { patch, post, remove } from '../../api/api-client.js';
import { useRefusal, useSession } from '../../api/session.js';
import type { Role, Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import { Invitations } from './invitations.js';
import { SignInSettings } from './sign-in-settings.js';
import w from './workspace.module.css';

const PATH = '/workspaces/{workspaceId}/members';
const ROLES: readonly { value: Role; text: string }[] = [
  { value: 'viewer', text: 'Viewer: can read' },
  { value: 'developer', text: 'Developer: can deploy' },
  { value: 'admin', text: 'Admin: can manage members' },
  { value: 'owner', text: 'Owner: can do everything' },
];

export function MembersPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId' });
  const { user } = useSession();
  const refusal = useRefusal(workspaceId, 'admin');
  const [leaving, setLeaving] = useState<Schemas['Member'] | null>(null);
  const path = { workspaceId };
  const query = useGet(PATH, { path });
  const change = useWrite((input: { memberId: string; role: Role }) =>
    patch(`${PATH}/{memberId}`, { path: { ...path, memberId: input.memberId }, body: { role: input.role } }),
  );
  const end = useWrite((memberId: string) => remove(`${PATH}/{memberId}`, { path: { ...path, memberId } }), {
    onDone: () => {
      toast(`${leaving?.email} is no longer a member`);
      setLeaving(null);
    },
  });
  return (
    <>
      {change.error ? <ErrorNotice title="The role was not changed" error={change.error} /> : null}
      <Loaded query={query} skeleton={<Skeleton rows={3} height={56} />}>
        {({ members }) => (
          <section className={u.card}>
            <ul>
              {members.map((member) => (
                <li key={member.id} className={w.member}>
                  <div className={w.who}>
                    <strong>{member.email}</strong>
                    <span className={u.dim}>
                      since <Ago at={member.createdAt} />
                      {member.mfaEnabled ? ', two-factor authentication' : ''}
                      {member.emailVerified ? '' : ', e-mail not verified'}
                    </span>
                  </div>
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
                  <Button
                    small
                    refusal={refusal}
                    aria-label={`${member.email === user?.email ? 'Leave' : 'Remove'} ${member.email}`}
                    onClick={() => setLeaving(member)}
                  >
                    {member.email === user?.email ? 'Leave' : 'Remove'}
                  </Button>
                </li>
              ))}
            </ul>
            <AddMember workspaceId={workspaceId} refusal={refusal} />
          </section>
        )}
      </Loaded>
      <Invitations workspaceId={workspaceId} refusal={refusal} />
      <SignInSettings workspaceId={workspaceId} refusal={refusal} />
      <ConfirmDialog
        title={`Remove ${leaving?.email}?`}
        action="Remove"
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        onConfirm={() => leaving && end.mutate(leaving.id)}
        write={end}
      >
        The member loses access, and the member’s keys are revoked. Deployments are kept.
      </ConfirmDialog>
    </>
  );
}

function AddMember({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('developer');
  const body = () => ({ email: email.trim(), role });
  const add = useWrite(() => post(PATH, { path: { workspaceId }, body: body() }), {
    onDone: () => {
      toast(`${email.trim()} was invited and sees the invitation in the console`);
      setEmail('');
    },
  });
  const invite = useWrite(
    () => post('/workspaces/{workspaceId}/invitations', { path: { workspaceId }, body: body() }),
    {
      onDone: ({ sent }) => {
        if (!sent) return;
        toast(`${email.trim()} was sent an e-mail`);
        add.reset();
        setEmail('');
      },
    },
  );
  const unknown = add.error?.status === 404;
  return (
    <WriteForm className={w.add} write={add} ready={email.trim() !== ''}>
      <TextField
        label="E-mail address"
        type="email"
        hint="They accept the invitation in the console, or by e-mail if they have no account"
        disabled={refusal !== null}
        value={email}
        onChange={(event) => {
          setEmail(event.target.value);
          add.reset();
          invite.reset();
        }}
      />
      <SelectField
        label="Role"
        options={ROLES}
        disabled={refusal !== null}
        value={role}
        onChange={(event) => setRole(event.target.value as Role)}
      />
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={email.trim() === ''}>
        Invite member
      </Button>
      {unknown ? (
        <Notice tone="plain" title={`${email.trim()} has no account here`}>
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

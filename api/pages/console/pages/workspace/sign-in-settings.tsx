import { put } from '../../api/api-client.js';
import { useSession } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { AreaField, CheckField, SelectField, TextField } from '../../ui/field.js';
import { useFields, WriteForm } from '../../ui/form.js';
import { ErrorNotice } from '../../ui/states.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';

const PATH = '/workspaces/{workspaceId}/sign-in';
const ROLES = (['viewer', 'developer', 'admin'] as const).map((value) => ({ value, text: value }));

type Settings = Schemas['SignInSettings'];
type Role = Settings['role'];

/** Settings of who becomes a member by signing in with the provider. */
export function SignInSettings({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const { provider } = useSession();
  const { data } = useGet(PATH, { path: { workspaceId } }, { enabled: provider !== null && refusal === null });
  if (!provider || !data) return null;
  return (
    <Card title={`Sign-in with ${provider.name}`}>
      <div className={u.cardBody}>
        <SettingsForm workspaceId={workspaceId} saved={data.signIn} />
      </div>
    </Card>
  );
}

function SettingsForm({ workspaceId, saved }: { workspaceId: string; saved: Settings }) {
  const { values, field } = useFields({
    domains: saved.allowedDomains.join(', '),
    role: saved.role,
    claim: saved.roleClaim ?? '',
    roles: linesOf(saved.roles),
    passwords: saved.passwords,
  });
  const { role, passwords } = values;
  const roleClaim = values.claim.trim() || null;
  const allowedDomains = values.domains
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((domain) => domain !== '');
  const body = { allowedDomains, role, roleClaim, roles: rolesOf(values.roles), passwords };
  const save = useWrite(
    () => put(PATH, { path: { workspaceId }, body }),
    () => toast('Saved'),
  );
  return (
    <WriteForm className={u.stack} write={save} ready>
      <TextField
        label="Domains"
        hint="People with a verified e-mail address in one of them become members when they sign in for the first time"
        {...field('domains')}
      />
      <SelectField label="Role of new members" options={ROLES} {...field('role')} />
      <TextField
        label="Claim with roles"
        hint="For example groups; empty if all get the same role"
        {...field('claim')}
      />
      {roleClaim === null ? null : (
        <AreaField
          label="Roles"
          hint="One in each line: a value of the claim, and viewer, developer or admin, such as ops: admin"
          {...field('roles')}
        />
      )}
      <CheckField
        label="Passwords"
        hint="If off, sessions that began with a password do not reach the workspace"
        {...field('passwords')}
      />
      {save.error ? <ErrorNotice title="The settings were not saved" error={save.error} /> : null}
      <div>
        <Button type="submit" pending={save.isPending}>
          Save
        </Button>
      </div>
    </WriteForm>
  );
}

function linesOf(roles: Settings['roles']): string {
  return Object.entries(roles)
    .map(([value, role]) => `${value}: ${role}`)
    .join('\n');
}

/** Parses lines in the format `value: role`. A value may contain colons. The API refuses roles that do not exist. */
function rolesOf(text: string): Settings['roles'] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(':');
      return [line.slice(0, at < 0 ? undefined : at).trim(), (at < 0 ? '' : line.slice(at + 1).trim()) as Role];
    }),
  );
}

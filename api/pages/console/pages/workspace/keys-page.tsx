import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ListCard, Row } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { AddForm, useFields } from '../../ui/form.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { Empty, Skeleton } from '../../ui/states.js';
import { Last } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { useWorkspaceId } from '../page.js';
import w from './workspace.module.css';

const PATH = '/workspaces/{workspaceId}/keys';
const DAY_MS = 86_400_000;
type Scope = 'read' | 'write';
const SCOPES: readonly { value: Scope; text: string }[] = [
  { value: 'write', text: 'Read and write' },
  { value: 'read', text: 'Read' },
];
const LIFETIMES = [
  { value: '30', text: '30 days' },
  { value: '90', text: '90 days' },
  { value: '365', text: 'A year' },
  { value: '', text: 'No expiration' },
];

export function KeysPage() {
  const path = { workspaceId: useWorkspaceId() };
  const [secret, setSecret] = useState<string | null>(null);
  const query = useGet(PATH, { path, query: { limit: 200 } });
  const { ask, target, dialog } = useConfirmation(
    ({ id }: Schemas['ApiKey']) => remove(`${PATH}/{keyId}`, { path: { ...path, keyId: id } }),
    () => toast('The key is revoked'),
  );
  return (
    <>
      <ListCard
        query={query}
        skeleton={<Skeleton rows={3} height={56} />}
        items={({ keys }) => keys}
        empty={
          <Empty title="No keys yet">
            A key lets a program, such as your CI, call the API. rnv login creates one by itself.
          </Empty>
        }
        add={<AddKey path={path} onMade={setSecret} />}
      >
        {(key) => (
          <Row
            title={
              <span>
                <strong>{key.name}</strong> <code>{key.prefix}…</code>
              </span>
            }
            detail={
              <>
                {key.scope === 'write' ? 'reads and writes' : 'reads'} as {key.email},{' '}
                <Last at={key.lastUsedAt} words="used" never="never used" />
              </>
            }
            aside={
              <span className={u.dim}>
                <Last at={key.expiresAt} words="expires" never="does not expire" />
              </span>
            }
          >
            <Button small aria-label={`Revoke ${key.name}`} onClick={() => ask(key)}>
              Revoke
            </Button>
          </Row>
        )}
      </ListCard>
      <ConfirmDialog {...dialog} title={`Revoke ${target?.name}?`} action="Revoke key">
        Programs that use this key can no longer call the API.
      </ConfirmDialog>
      <SecretDialog
        title="New API key"
        secrets={secret === null ? null : [{ label: 'Key', value: secret }]}
        onClose={() => setSecret(null)}
      />
    </>
  );
}

function AddKey({ path, onMade }: { path: { workspaceId: string }; onMade: (secret: string) => void }) {
  const { values, set, field } = useFields({ name: '', scope: 'write' as Scope, days: '90' });
  const { scope, days } = values;
  const name = values.name.trim();
  const add = useWrite(
    () => {
      const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
      return post(PATH, { path, body: { name, scope, expiresAt } });
    },
    ({ secret }) => {
      set({ name: '' });
      onMade(secret);
      // Removes the response from memory, because it contains the secret.
      add.reset();
    },
  );
  return (
    <AddForm
      className={`${w.add} ${w.addKey}`}
      write={add}
      ready={name !== ''}
      action="Create key"
      failure="The key was not created"
    >
      <TextField label="Name" hint="The program or machine that uses it" {...field('name')} />
      <SelectField label="Permission" options={SCOPES} {...field('scope')} />
      <SelectField label="Expiration" options={LIFETIMES} {...field('days')} />
    </AddForm>
  );
}

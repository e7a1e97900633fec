import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import w from './workspace.module.css';

const PATH = '/workspaces/{workspaceId}/keys';
const DAY_MS = 86_400_000;
const LIFETIMES = [
  { value: '30', text: '30 days' },
  { value: '90', text: '90 days' },
  { value: '365', text: 'A year' },
  { value: '', text: 'No expiration' },
];

export function KeysPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId' });
  const [secret, setSecret] = useState<string | null>(null);
  const [ending, setEnding] = useState<Schemas['ApiKey'] | null>(null);
  const path = { workspaceId };
  const query = useGet(PATH, { path, query: { limit: 200 } });
  const revoke = useWrite((keyId: string) => remove(`${PATH}/{keyId}`, { path: { ...path, keyId } }), {
    onDone: () => {
      toast('The key is revoked');
      setEnding(null);
    },
  });
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={3} height={56} />}>
        {({ keys }) => (
          <section className={u.card}>
            {keys.length === 0 ? (
              <Empty title="No keys yet">
                A key lets a program, such as your CI, call the API. rnv login creates one by itself.
              </Empty>
            ) : (
              <ul>
                {keys.map((key) => (
                  <li key={key.id} className={w.member}>
                    <div className={w.who}>
                      <span>
                        <strong>{key.name}</strong> <code>{key.prefix}…</code>
                      </span>
                      <span className={u.dim}>
                        {key.scope === 'write' ? 'reads and writes' : 'reads'} as {key.email},{' '}
                        {key.lastUsedAt === null ? (
                          'never used'
                        ) : (
                          <>
                            used <Ago at={key.lastUsedAt} />
                          </>
                        )}
                      </span>
                    </div>
                    <span className={u.dim}>
                      {key.expiresAt === null ? (
                        'does not expire'
                      ) : (
                        <>
                          expires <Ago at={key.expiresAt} />
                        </>
                      )}
                    </span>
                    <Button small aria-label={`Revoke ${key.name}`} onClick={() => setEnding(key)}>
                      Revoke
                    </Button>
                  </li>
                ))}
              </ul>
            )}
            <AddKey workspaceId={workspaceId} onMade={setSecret} />
          </section>
        )}
      </Loaded>
      <ConfirmDialog
        title={`Revoke ${ending?.name}?`}
        action="Revoke key"
        open={ending !== null}
        onClose={() => setEnding(null)}
        onConfirm={() => ending && revoke.mutate(ending.id)}
        write={revoke}
      >
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

function AddKey({ workspaceId, onMade }: { workspaceId: string; onMade: (secret: string) => void }) {
  const [name, setName] = useState('');
  const [scope, setScope] = useState<'read' | 'write'>('write');
  const [days, setDays] = useState('90');
  const add = useWrite(
    () =>
      post(PATH, {
        path: { workspaceId },
        body: {
          name: name.trim(),
          scope,
          expiresAt: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
        },
      }),
    {
      onDone: ({ secret }) => {
        setName('');
        onMade(secret);
        // Removes the response from memory, because it contains the secret.
        add.reset();
      },
    },
  );
  return (
    <WriteForm className={`${w.add} ${w.addKey}`} write={add} ready={name.trim() !== ''}>
      <TextField
        label="Name"
        hint="The program or machine that uses it"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <SelectField
        label="Permission"
        options={[
          { value: 'write', text: 'Read and write' },
          { value: 'read', text: 'Read' },
        ]}
        value={scope}
        onChange={(event) => setScope(event.target.value as 'read' | 'write')}
      />
      <SelectField
        label="Expiration"
        options={LIFETIMES}
        value={days}
        onChange={(event) => setDays(event.target.value)}
      />
      <Button type="submit" pending={add.isPending} disabled={name.trim() === ''}>
        Create key
      </Button>
      {add.error ? <ErrorNotice title="The key was not created" error={add.error} /> : null}
    </WriteForm>
  );
}

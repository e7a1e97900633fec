import { useState } from 'react';
import { patch } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import { useServicePath } from '../services/service-shell.js';
import { providerText } from './providers.js';

type Hook = Schemas['Hook'];

export const TOKEN_HINT =
  'With it, commits and pull requests show at the git host what became of them. It needs the right to set statuses and to comment.';

/** Sets or removes the token with which a hook reports to its git host. */
export function TokenDialog({ hook, onClose }: { hook: Hook | null; onClose: () => void }) {
  return (
    <Dialog title="Reports to the git host" open={hook !== null} onClose={onClose}>
      {hook === null ? null : <TokenForm key={hook.id} hook={hook} onClose={onClose} />}
    </Dialog>
  );
}

function TokenForm({ hook, onClose }: { hook: Hook; onClose: () => void }) {
  const path = { ...useServicePath(), hookId: hook.id };
  const [token, setToken] = useState('');
  const [apiUrl, setApiUrl] = useState('');
  const write = useWrite(
    (body: { token: string; apiUrl?: string }) =>
      patch('/workspaces/{workspaceId}/services/{serviceId}/hooks/{hookId}', { path, body }),
    {
      onDone: () => {
        // Removes the token from memory.
        write.reset();
        onClose();
      },
    },
  );
  const body = { token: token.trim(), ...(apiUrl.trim() === '' ? {} : { apiUrl: apiUrl.trim() }) };
  return (
    <WriteForm
      className={u.stack}
      write={{ isPending: write.isPending, mutate: () => write.mutate(body) }}
      ready={body.token !== ''}
    >
      <TextField
        label={`Token of ${providerText(hook.provider)}`}
        hint={TOKEN_HINT}
        type="password"
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <TextField
        label="Address of its API"
        hint="Only if it does not follow from the repository's address."
        type="url"
        placeholder={hook.reports?.apiUrl ?? 'https://git.example.com/api/v1'}
        value={apiUrl}
        onChange={(event) => setApiUrl(event.target.value)}
      />
      {write.error ? <ErrorNotice title="The token was not changed" error={write.error} /> : null}
      <DialogFoot>
        <Button onClick={onClose}>Cancel</Button>
        {hook.hasToken ? (
          <Button pending={write.isPending} onClick={() => write.mutate({ token: '' })}>
            Remove the token
          </Button>
        ) : null}
        <Button type="submit" look="primary" pending={write.isPending} disabled={body.token === ''}>
          Save
        </Button>
      </DialogFoot>
    </WriteForm>
  );
}

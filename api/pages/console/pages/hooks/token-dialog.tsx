import { patch } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogForm } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { useFields } from '../../ui/form.js';
import { useServicePath } from '../services/service-shell.js';
import { providerText } from './providers.js';

type Hook = Schemas['Hook'];

export const TOKEN_HINT =
  'With it, commits and pull requests show at the git host what became of them. It needs the right to set statuses and to comment.';

export function TokenDialog({ hook, onClose }: { hook: Hook | null; onClose: () => void }) {
  return (
    <Dialog title="Reports to the git host" open={hook !== null} onClose={onClose}>
      {hook === null ? null : <TokenForm key={hook.id} hook={hook} onClose={onClose} />}
    </Dialog>
  );
}

function TokenForm({ hook, onClose }: { hook: Hook; onClose: () => void }) {
  const path = { ...useServicePath(), hookId: hook.id };
  const { values, field } = useFields({ token: '', apiUrl: '' });
  const write = useWrite(
    (body: { token: string; apiUrl?: string }) =>
      patch('/workspaces/{workspaceId}/services/{serviceId}/hooks/{hookId}', { path, body }),
    () => {
      // Removes the token from memory.
      write.reset();
      onClose();
    },
  );
  const apiUrl = values.apiUrl.trim();
  const body = { token: values.token.trim(), ...(apiUrl === '' ? {} : { apiUrl }) };
  return (
    <DialogForm
      write={{ ...write, mutate: () => write.mutate(body) }}
      ready={body.token !== ''}
      action="Save"
      failure="The token was not changed"
      more={
        hook.hasToken ? (
          <Button pending={write.isPending} onClick={() => write.mutate({ token: '' })}>
            Remove the token
          </Button>
        ) : null
      }
      onClose={onClose}
    >
      <TextField
        label={`Token of ${providerText(hook.provider)}`}
        hint={TOKEN_HINT}
        type="password"
        {...field('token')}
      />
      <TextField
        label="Address of its API"
        hint="Only if it does not follow from the repository's address."
        type="url"
        placeholder={hook.reports?.apiUrl ?? 'https://git.example.com/api/v1'}
        {...field('apiUrl')}
      />
    </DialogForm>
  );
}

import { type FormEvent, useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { CheckField, SelectField, TextField } from '../../ui/field.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { Empty, ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { changeRefusal, useService, useServicePath } from '../services/service-shell.js';
import { EndpointRow } from './endpoint-row.js';
import e from './endpoints.module.css';
import { PROVIDER_HELP, PROVIDERS, type Provider, providerText, type Shown, shownOf } from './providers.js';
import { TOKEN_HINT, TokenDialog } from './token-dialog.js';

type Hook = Schemas['Hook'];
type NewHook = { provider: Provider; stack: boolean; token?: string };
type Asked = { hook: Hook; to: 'replace' | 'delete' };

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/hooks';

export function HooksPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal = role ?? changeRefusal(service);
  const [shown, setShown] = useState<Shown | null>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [reporting, setReporting] = useState<Hook | null>(null);
  const query = useGet(PATH, { path, query: { limit: 50 } });
  const make = useWrite((body: NewHook) => post(PATH, { path, body }), {
    onDone: ({ hook }) => {
      setShown(shownOf(hook));
      // Removes the response from memory, because it contains the secret.
      make.reset();
    },
  });
  const end = useWrite(({ id }: Hook) => remove(`${PATH}/{hookId}`, { path: { ...path, hookId: id } }), {
    onDone: () => setAsked(null),
  });
  // Creates the new webhook first, so that the old one works until it is replaced.
  const replace = useWrite(
    async (old: Hook) => {
      const { hook } = await post(PATH, { path, body: { provider: old.provider, stack: old.stack } });
      setShown(shownOf(hook));
      await remove(`${PATH}/{hookId}`, { path: { ...path, hookId: old.id } });
    },
    { onDone: () => setAsked(null) },
  );
  return (
    <>
      {service.configuration.autoDeploy === 'off' && !service.archived ? (
        <Notice tone="plain">
          Auto-deploy is off in the settings, so pushes do not deploy. A deploy hook always deploys.
        </Notice>
      ) : null}
      <Loaded query={query} skeleton={<Skeleton rows={2} height={90} />}>
        {({ hooks }) => (
          <section className={u.card}>
            <div className={u.cardHead}>
              <h2>Incoming webhooks</h2>
            </div>
            {hooks.length === 0 ? (
              <Empty title="No webhooks yet">
                With a webhook of your git host, a push deploys at once. Without one, the repository is polled each
                minute.
              </Empty>
            ) : (
              <ul>
                {hooks.map((hook) => (
                  <EndpointRow
                    key={hook.id}
                    endpoint={hook}
                    title={providerText(hook.provider) + (hook.stack ? ', applies ranvier.yaml' : '')}
                    more={<Reports hook={hook} />}
                  >
                    {hook.provider === 'generic' ? null : (
                      <Button
                        small
                        refusal={refusal}
                        aria-label={`Token of the webhook of ${providerText(hook.provider)}`}
                        onClick={() => setReporting(hook)}
                      >
                        Token
                      </Button>
                    )}
                    <Button
                      small
                      refusal={refusal}
                      aria-label={`Replace the webhook of ${providerText(hook.provider)}`}
                      onClick={() => setAsked({ hook, to: 'replace' })}
                    >
                      Replace
                    </Button>
                    <Button
                      small
                      look="quiet"
                      refusal={refusal}
                      aria-label={`Delete the webhook of ${providerText(hook.provider)}`}
                      onClick={() => setAsked({ hook, to: 'delete' })}
                    >
                      Delete
                    </Button>
                  </EndpointRow>
                ))}
              </ul>
            )}
            <AddHook
              refusal={refusal}
              pending={make.isPending}
              onAdd={(hook, done) => make.mutate(hook, { onSuccess: done })}
            />
            {make.error ? <ErrorNotice title="The webhook was not created" error={make.error} /> : null}
          </section>
        )}
      </Loaded>
      <ConfirmDialog
        title="Replace this webhook?"
        action="Replace"
        open={asked?.to === 'replace'}
        onClose={() => setAsked(null)}
        onConfirm={() => asked && replace.mutate(asked.hook)}
        write={replace}
      >
        You get a new URL and a new secret. Requests to the old URL are refused from then on.
        {asked?.hook.hasToken ? ' The new webhook has no token for reports; enter it again.' : null}
      </ConfirmDialog>
      <ConfirmDialog
        title="Delete this webhook?"
        action="Delete"
        open={asked?.to === 'delete'}
        onClose={() => setAsked(null)}
        onConfirm={() => asked && end.mutate(asked.hook)}
        write={end}
      >
        Requests to its URL are refused from then on. With auto-deploy on, the repository is still polled each minute.
      </ConfirmDialog>
      <TokenDialog hook={reporting} onClose={() => setReporting(null)} />
      <SecretDialog
        title={`New webhook: ${shown === null ? '' : providerText(shown.provider)}`}
        secrets={shown?.secrets ?? null}
        onClose={() => setShown(null)}
      >
        {shown === null ? null : <p>{PROVIDER_HELP[shown.provider]}</p>}
      </SecretDialog>
    </>
  );
}

/** What a hook reports to its git host, and why the last report failed. */
function Reports({ hook: { reports } }: { hook: Hook }) {
  if (reports === null) return null;
  return (
    <span className={u.dim}>
      reports to {reports.project} at {reports.apiUrl},{' '}
      {reports.lastSentAt === null ? (
        'nothing sent yet'
      ) : (
        <>
          last sent <Ago at={reports.lastSentAt} />
        </>
      )}
      {reports.lastError === '' ? '' : `: ${reports.lastError}`}
    </span>
  );
}

function AddHook({
  refusal,
  pending,
  onAdd,
}: {
  refusal: string | null;
  pending: boolean;
  onAdd: (hook: NewHook, done: () => void) => void;
}) {
  const [provider, setProvider] = useState<Provider>('github');
  const [stack, setStack] = useState(false);
  const [token, setToken] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (pending) return;
    const ofHost = provider === 'generic' ? { stack: false } : { stack, ...(token === '' ? {} : { token }) };
    onAdd({ provider, ...ofHost }, () => setToken(''));
  };
  return (
    <form className={e.add} onSubmit={submit}>
      <SelectField
        label="Provider"
        options={PROVIDERS}
        disabled={refusal !== null}
        value={provider}
        onChange={(event) => setProvider(event.target.value as Provider)}
      />
      <Button type="submit" refusal={refusal} pending={pending}>
        Add webhook
      </Button>
      {provider === 'generic' ? null : (
        <>
          <CheckField
            label="Apply ranvier.yaml of each push"
            hint="A push that would delete something changes nothing, and the reason is shown here."
            disabled={refusal !== null}
            checked={stack}
            onChange={(event) => setStack(event.target.checked)}
          />
          <TextField
            label="Token for reports (optional)"
            hint={TOKEN_HINT}
            type="password"
            disabled={refusal !== null}
            value={token}
            onChange={(event) => setToken(event.target.value.trim())}
          />
        </>
      )}
    </form>
  );
}

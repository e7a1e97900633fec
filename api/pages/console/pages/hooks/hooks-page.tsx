import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ListCard } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { CheckField, FieldsDisabled, SelectField, TextField } from '../../ui/field.js';
import { useFields, WriteForm } from '../../ui/form.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { Empty, ErrorNotice, Notice, Skeleton } from '../../ui/states.js';
import { Last } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { useChangeRefusal, useService, useServicePath } from '../services/service-shell.js';
import { EndpointRow } from './endpoint-row.js';
import e from './endpoints.module.css';
import { PROVIDER_HELP, PROVIDERS, type Provider, providerText, type Shown, shownOf } from './providers.js';
import { TOKEN_HINT, TokenDialog } from './token-dialog.js';

type Hook = Schemas['Hook'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/hooks';

export function HooksPage() {
  const path = useServicePath();
  const service = useService();
  const refusal = useChangeRefusal();
  const [shown, setShown] = useState<Shown | null>(null);
  const [reporting, setReporting] = useState<Hook | null>(null);
  const query = useGet(PATH, { path, query: { limit: 50 } });
  const deletion = useConfirmation(({ id }: Hook) => remove(`${PATH}/{hookId}`, { path: { ...path, hookId: id } }));
  // Creates the new webhook first, so that the old one works until it is replaced.
  const replacement = useConfirmation(async (old: Hook) => {
    const { hook } = await post(PATH, { path, body: { provider: old.provider, stack: old.stack } });
    setShown(shownOf(hook));
    await remove(`${PATH}/{hookId}`, { path: { ...path, hookId: old.id } });
  });
  return (
    <>
      {service.configuration.autoDeploy === 'off' && !service.archived ? (
        <Notice tone="plain">
          Auto-deploy is off in the settings, so pushes do not deploy. A deploy hook always deploys.
        </Notice>
      ) : null}
      <ListCard
        title="Incoming webhooks"
        query={query}
        skeleton={<Skeleton rows={2} height={90} />}
        items={({ hooks }) => hooks}
        empty={
          <Empty title="No webhooks yet">
            With a webhook of your git host, a push deploys at once. Without one, the repository is polled each minute.
          </Empty>
        }
        add={<AddHook refusal={refusal} onMade={setShown} />}
      >
        {(hook) => (
          <HookRow
            hook={hook}
            refusal={refusal}
            onToken={() => setReporting(hook)}
            onReplace={() => replacement.ask(hook)}
            onDelete={() => deletion.ask(hook)}
          />
        )}
      </ListCard>
      <ConfirmDialog {...replacement.dialog} title="Replace this webhook?" action="Replace">
        You get a new URL and a new secret. Requests to the old URL are refused from then on.
        {replacement.target?.hasToken ? ' The new webhook has no token for reports; enter it again.' : null}
      </ConfirmDialog>
      <ConfirmDialog {...deletion.dialog} title="Delete this webhook?" action="Delete">
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

interface HookRowProps {
  hook: Hook;
  refusal: string | null;
  onToken: () => void;
  onReplace: () => void;
  onDelete: () => void;
}

function HookRow({ hook, refusal, onToken, onReplace, onDelete }: HookRowProps) {
  const provider = providerText(hook.provider);
  return (
    <EndpointRow
      endpoint={hook}
      title={provider + (hook.stack ? ', applies ranvier.yaml' : '')}
      more={<Reports hook={hook} />}
    >
      {hook.provider === 'generic' ? null : (
        <Button small refusal={refusal} aria-label={`Token of the webhook of ${provider}`} onClick={onToken}>
          Token
        </Button>
      )}
      <Button small refusal={refusal} aria-label={`Replace the webhook of ${provider}`} onClick={onReplace}>
        Replace
      </Button>
      <Button small look="quiet" refusal={refusal} aria-label={`Delete the webhook of ${provider}`} onClick={onDelete}>
        Delete
      </Button>
    </EndpointRow>
  );
}

function Reports({ hook: { reports } }: { hook: Hook }) {
  if (reports === null) return null;
  return (
    <span className={u.dim}>
      reports to {reports.project} at {reports.apiUrl},{' '}
      <Last at={reports.lastSentAt} words="last sent" never="nothing sent yet" />
      {reports.lastError === '' ? '' : `: ${reports.lastError}`}
    </span>
  );
}

function AddHook({ refusal, onMade }: { refusal: string | null; onMade: (shown: Shown) => void }) {
  const path = useServicePath();
  const { values, set, field } = useFields({ provider: 'github' as Provider, stack: false, token: '' });
  const { provider, stack, token } = values;
  const ofHost = provider === 'generic' ? { stack: false } : { stack, ...(token === '' ? {} : { token }) };
  const make = useWrite(
    () => post(PATH, { path, body: { provider, ...ofHost } }),
    ({ hook }) => {
      set({ token: '' });
      onMade(shownOf(hook));
      // Removes the response from memory, because it contains the secret.
      make.reset();
    },
  );
  return (
    <>
      <WriteForm className={e.add} write={make} ready>
        <FieldsDisabled value={refusal !== null}>
          <SelectField label="Provider" options={PROVIDERS} {...field('provider')} />
          <Button type="submit" refusal={refusal} pending={make.isPending}>
            Add webhook
          </Button>
          {provider === 'generic' ? null : (
            <>
              <CheckField
                label="Apply ranvier.yaml of each push"
                hint="A push that would delete something changes nothing, and the reason is shown here."
                {...field('stack')}
              />
              <TextField
                label="Token for reports (optional)"
                hint={TOKEN_HINT}
                type="password"
                value={token}
                onChange={(text) => set({ token: text.trim() })}
              />
            </>
          )}
        </FieldsDisabled>
      </WriteForm>
      {make.error ? <ErrorNotice title="The webhook was not created" error={make.error} /> : null}
    </>
  );
}

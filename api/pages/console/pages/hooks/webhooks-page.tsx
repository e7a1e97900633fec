import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { CheckField, SelectField, TextField } from '../../ui/field.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import { Drains } from './drains.js';
import { EndpointRow } from './endpoint-row.js';
import e from './endpoints.module.css';
import { FORMAT_HELP, FORMATS, type WebhookEvent } from './providers.js';

const PATH = '/workspaces/{workspaceId}/webhooks';

const EVENT_TEXT: Readonly<Record<WebhookEvent, string>> = {
  'deployment.live': 'A deployment went live',
  'deployment.failed': 'A deployment failed',
  'run.failed': 'A run failed',
  'backup.failed': 'A backup failed',
  'budget.alert': 'Budget alert',
  'alert.firing': 'An alert fires',
  'alert.resolved': 'An alert is over',
};
const EVENTS = Object.keys(EVENT_TEXT) as WebhookEvent[];

export function WebhooksPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId' });
  const refusal = useRefusal(workspaceId, 'admin');
  const [secret, setSecret] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<Schemas['Webhook'] | null>(null);
  const query = useGet(PATH, { path: { workspaceId }, query: { limit: 50 } });
  const end = useWrite((webhookId: string) => remove(`${PATH}/{webhookId}`, { path: { workspaceId, webhookId } }), {
    onDone: () => setLeaving(null),
  });
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={90} />}>
        {({ webhooks }) => (
          <section className={u.card}>
            <div className={u.cardHead}>
              <h2>Outgoing webhooks</h2>
            </div>
            {webhooks.length === 0 ? (
              <Empty title="No webhooks yet">
                Send events to a chat, a pager or your own program. Each request is signed, and retried until your
                server accepts it.
              </Empty>
            ) : (
              <ul>
                {webhooks.map((webhook) => (
                  <EndpointRow
                    key={webhook.id}
                    endpoint={webhook}
                    title={webhook.events.map((event) => EVENT_TEXT[event].toLowerCase()).join(', ')}
                  >
                    <Button
                      small
                      refusal={refusal}
                      aria-label={`Delete ${webhook.url}`}
                      onClick={() => setLeaving(webhook)}
                    >
                      Delete
                    </Button>
                  </EndpointRow>
                ))}
              </ul>
            )}
            <AddWebhook workspaceId={workspaceId} refusal={refusal} onMade={setSecret} />
          </section>
        )}
      </Loaded>
      <Drains workspaceId={workspaceId} refusal={refusal} />
      <ConfirmDialog
        title="Delete this webhook?"
        action="Delete"
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        onConfirm={() => leaving && end.mutate(leaving.id)}
        write={end}
      >
        No more events are sent to <code>{leaving?.url}</code>, including those that are waiting.
      </ConfirmDialog>
      <SecretDialog
        title="Signing secret"
        secrets={secret === null ? null : [{ label: 'Secret', value: secret }]}
        onClose={() => setSecret(null)}
      >
        <p>Each request is signed with this secret. Check the signature to be sure that the request is genuine.</p>
      </SecretDialog>
    </>
  );
}

function AddWebhook({
  workspaceId,
  refusal,
  onMade,
}: {
  workspaceId: string;
  refusal: string | null;
  onMade: (secret: string) => void;
}) {
  const [url, setUrl] = useState('');
  const [format, setFormat] = useState<Schemas['Webhook']['format']>('json');
  const [events, setEvents] = useState<readonly WebhookEvent[]>(['deployment.failed', 'run.failed', 'backup.failed']);
  const body = { url: url.trim(), format, events: [...events] };
  const add = useWrite(() => post(PATH, { path: { workspaceId }, body }), {
    onDone: ({ webhook }) => {
      setUrl('');
      // Chats check no signature, so the user needs no secret for them.
      if (webhook.format === 'json') onMade(webhook.secret);
      // Removes the response from memory, because it contains the secret.
      add.reset();
    },
  });
  const ready = url.trim() !== '' && events.length > 0;
  return (
    <WriteForm className={`${e.add} ${e.wide}`} write={add} ready={ready}>
      <SelectField
        label="Format"
        hint={FORMAT_HELP[format]}
        options={FORMATS}
        disabled={refusal !== null}
        value={format}
        onChange={(event) => setFormat(FORMATS.find(({ value }) => value === event.target.value)?.value ?? 'json')}
      />
      <TextField
        label="URL"
        type="url"
        placeholder="https://example.com/ranvier"
        disabled={refusal !== null}
        value={url}
        onChange={(event) => setUrl(event.target.value)}
      />
      <fieldset className={e.events} disabled={refusal !== null}>
        <legend className={u.label}>Events</legend>
        {EVENTS.map((name) => (
          <CheckField
            key={name}
            label={EVENT_TEXT[name]}
            checked={events.includes(name)}
            onChange={(event) =>
              setEvents(event.target.checked ? [...events, name] : events.filter((one) => one !== name))
            }
          />
        ))}
      </fieldset>
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={!ready}>
        Add webhook
      </Button>
      {add.error ? <ErrorNotice title="The webhook was not added" error={add.error} /> : null}
    </WriteForm>
  );
}

import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ListCard } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { ChoicesField, SelectField, TextField } from '../../ui/field.js';
import { AddForm, useFields } from '../../ui/form.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { Empty, Skeleton } from '../../ui/states.js';
import { useWorkspaceId } from '../page.js';
import { Drains } from './drains.js';
import { EndpointRow } from './endpoint-row.js';
import e from './endpoints.module.css';
import { FORMAT_HELP, FORMATS, type WebhookEvent } from './providers.js';

const PATH = '/workspaces/{workspaceId}/webhooks';
type Webhook = Schemas['Webhook'];

const EVENT_TEXT: Readonly<Record<WebhookEvent, string>> = {
  'deployment.live': 'A deployment went live',
  'deployment.failed': 'A deployment failed',
  'run.failed': 'A run failed',
  'backup.failed': 'A backup failed',
  'budget.alert': 'Budget alert',
  'alert.firing': 'An alert fires',
  'alert.resolved': 'An alert is over',
};

export function WebhooksPage() {
  const workspaceId = useWorkspaceId();
  const refusal = useRefusal(workspaceId, 'admin');
  const [secret, setSecret] = useState<string | null>(null);
  const query = useGet(PATH, { path: { workspaceId }, query: { limit: 50 } });
  const { ask, target, dialog } = useConfirmation(({ id }: Webhook) =>
    remove(`${PATH}/{webhookId}`, { path: { workspaceId, webhookId: id } }),
  );
  return (
    <>
      <ListCard
        title="Outgoing webhooks"
        query={query}
        skeleton={<Skeleton rows={2} height={90} />}
        items={({ webhooks }) => webhooks}
        empty={
          <Empty title="No webhooks yet">
            Send events to a chat, a pager or your own program. Each request is signed, and retried until your server
            accepts it.
          </Empty>
        }
        add={<AddWebhook refusal={refusal} onMade={setSecret} />}
      >
        {(webhook) => (
          <EndpointRow
            endpoint={webhook}
            title={webhook.events.map((event) => EVENT_TEXT[event].toLowerCase()).join(', ')}
          >
            <Button small refusal={refusal} aria-label={`Delete ${webhook.url}`} onClick={() => ask(webhook)}>
              Delete
            </Button>
          </EndpointRow>
        )}
      </ListCard>
      <Drains workspaceId={workspaceId} refusal={refusal} />
      <ConfirmDialog {...dialog} title="Delete this webhook?" action="Delete">
        No more events are sent to <code>{target?.url}</code>, including those that are waiting.
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

function AddWebhook({ refusal, onMade }: { refusal: string | null; onMade: (secret: string) => void }) {
  const path = { workspaceId: useWorkspaceId() };
  const { values, set, field } = useFields({
    url: '',
    format: 'json' as Webhook['format'],
    events: ['deployment.failed', 'run.failed', 'backup.failed'] as WebhookEvent[],
  });
  const body = { ...values, url: values.url.trim() };
  const add = useWrite(
    () => post(PATH, { path, body }),
    ({ webhook }) => {
      set({ url: '' });
      // All formats except JSON are for chat services, which check no signature. The user needs no secret for them.
      if (webhook.format === 'json') onMade(webhook.secret);
      // Removes the response from memory, because it contains the secret.
      add.reset();
    },
  );
  return (
    <AddForm
      className={`${e.add} ${e.wide}`}
      write={add}
      ready={body.url !== '' && body.events.length > 0}
      refusal={refusal}
      action="Add webhook"
      failure="The webhook was not added"
    >
      <SelectField label="Format" hint={FORMAT_HELP[values.format]} options={FORMATS} {...field('format')} />
      <TextField label="URL" type="url" placeholder="https://example.com/ranvier" {...field('url')} />
      <ChoicesField label="Events" texts={EVENT_TEXT} {...field('events')} />
    </AddForm>
  );
}

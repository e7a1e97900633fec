import { post, remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ListCard } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { ChoicesField, TextField } from '../../ui/field.js';
import { AddForm, useFields } from '../../ui/form.js';
import { Empty, Skeleton } from '../../ui/states.js';
import { Last } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import e from './endpoints.module.css';

const PATH = '/workspaces/{workspaceId}/drains';
type Drain = Schemas['Drain'];
type Signal = Drain['signals'][number];

const SIGNAL_TEXT: Readonly<Record<Signal, string>> = { logs: 'Logs', metrics: 'Metrics', traces: 'Traces' };

export function Drains({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const query = useGet(PATH, { path: { workspaceId } });
  const { ask, target, dialog } = useConfirmation(({ id }: Drain) =>
    remove(`${PATH}/{drainId}`, { path: { workspaceId, drainId: id } }),
  );
  return (
    <>
      <ListCard
        title="Drains"
        query={query}
        skeleton={<Skeleton rows={1} height={90} />}
        items={({ drains }) => drains}
        empty={
          <Empty title="No drains yet">
            Send logs, metrics and a trace of each deployment to a collector of OpenTelemetry.
          </Empty>
        }
        add={<AddDrain workspaceId={workspaceId} refusal={refusal} />}
      >
        {(drain) => <DrainRow drain={drain} refusal={refusal} onDelete={() => ask(drain)} />}
      </ListCard>
      <ConfirmDialog {...dialog} title="Delete this drain?" action="Delete">
        Nothing more is sent to <code>{target?.endpoint}</code>, not even what waits.
      </ConfirmDialog>
    </>
  );
}

function DrainRow({ drain, refusal, onDelete }: { drain: Drain; refusal: string | null; onDelete: () => void }) {
  const { endpoint, name, signals, serviceId, headerNames, lastSentAt, lastError, behindSeconds } = drain;
  const what = signals.map((signal) => SIGNAL_TEXT[signal].toLowerCase()).join(', ');
  return (
    <li className={e.endpoint}>
      <div className={e.head}>
        <strong>{name || what}</strong>
        <Button small refusal={refusal} aria-label={`Delete the drain to ${endpoint}`} onClick={onDelete}>
          Delete
        </Button>
      </div>
      <div className={e.address}>
        <code>{endpoint}</code>
      </div>
      <span className={u.dim}>
        {what}
        {serviceId === null ? '' : ' of one service'}
        {headerNames.length === 0 ? '' : `, with ${headerNames.join(', ')}`}:{' '}
        <Last at={lastSentAt} words="last sent" never="nothing sent yet" />
        {behindSeconds === 0 ? '' : `, ${behindSeconds} s behind`}
      </span>
      {lastError === '' ? null : <span className={u.dim}>{lastError}</span>}
    </li>
  );
}

function AddDrain({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const { values, set, field } = useFields({
    endpoint: '',
    signals: Object.keys(SIGNAL_TEXT) as Signal[],
    header: 'Authorization',
    secret: '',
  });
  const { signals, secret } = values;
  const header = values.header.trim();
  const body = { endpoint: values.endpoint.trim(), signals, headers: secret === '' ? {} : { [header]: secret } };
  const add = useWrite(
    () => post(PATH, { path: { workspaceId }, body }),
    () => set({ endpoint: '', secret: '' }),
  );
  const ready = body.endpoint !== '' && signals.length > 0 && (secret === '' || header !== '');
  return (
    <AddForm
      className={`${e.add} ${e.wide}`}
      write={add}
      ready={ready}
      refusal={refusal}
      action="Add drain"
      failure="The drain was not added"
    >
      <TextField
        label="Endpoint"
        type="url"
        hint="Of an OTLP/HTTP collector, before /v1/logs"
        placeholder="https://otlp.example.com"
        {...field('endpoint')}
      />
      <ChoicesField label="Signals" texts={SIGNAL_TEXT} {...field('signals')} />
      <TextField label="Header" {...field('header')} />
      <TextField
        label="Value of the header"
        type="password"
        hint="A secret, which is never shown again"
        {...field('secret')}
      />
    </AddForm>
  );
}

import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { CheckField, TextField } from '../../ui/field.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import e from './endpoints.module.css';

const PATH = '/workspaces/{workspaceId}/drains';
type Drain = Schemas['Drain'];
type Signal = Drain['signals'][number];

const SIGNAL_TEXT: Readonly<Record<Signal, string>> = { logs: 'Logs', metrics: 'Metrics', traces: 'Traces' };
const SIGNALS = Object.keys(SIGNAL_TEXT) as Signal[];

/** The collectors to which the logs, metrics and traces of the workspace are sent. */
export function Drains({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const [leaving, setLeaving] = useState<Drain | null>(null);
  const query = useGet(PATH, { path: { workspaceId } });
  const end = useWrite((drainId: string) => remove(`${PATH}/{drainId}`, { path: { workspaceId, drainId } }), {
    onDone: () => setLeaving(null),
  });
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={1} height={90} />}>
        {({ drains }) => (
          <section className={u.card}>
            <div className={u.cardHead}>
              <h2>Drains</h2>
            </div>
            {drains.length === 0 ? (
              <Empty title="No drains yet">
                Send logs, metrics and a trace of each deployment to a collector of OpenTelemetry.
              </Empty>
            ) : (
              <ul>
                {drains.map((drain) => (
                  <DrainRow key={drain.id} drain={drain} refusal={refusal} onDelete={() => setLeaving(drain)} />
                ))}
              </ul>
            )}
            <AddDrain workspaceId={workspaceId} refusal={refusal} />
          </section>
        )}
      </Loaded>
      <ConfirmDialog
        title="Delete this drain?"
        action="Delete"
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        onConfirm={() => leaving && end.mutate(leaving.id)}
        write={end}
      >
        Nothing more is sent to <code>{leaving?.endpoint}</code>, not even what waits.
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
        {lastSentAt === null ? (
          'nothing sent yet'
        ) : (
          <>
            last sent <Ago at={lastSentAt} />
          </>
        )}
        {behindSeconds === 0 ? '' : `, ${behindSeconds} s behind`}
      </span>
      {lastError === '' ? null : <span className={u.dim}>{lastError}</span>}
    </li>
  );
}

function AddDrain({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const [endpoint, setEndpoint] = useState('');
  const [signals, setSignals] = useState<readonly Signal[]>(SIGNALS);
  const [header, setHeader] = useState('Authorization');
  const [value, setValue] = useState('');
  const headers = value === '' ? {} : { [header.trim()]: value };
  const body = { endpoint: endpoint.trim(), signals: [...signals], headers };
  const add = useWrite(() => post(PATH, { path: { workspaceId }, body }), {
    onDone: () => {
      setEndpoint('');
      setValue('');
    },
  });
  const ready = endpoint.trim() !== '' && signals.length > 0 && (value === '' || header.trim() !== '');
  return (
    <WriteForm className={`${e.add} ${e.wide}`} write={add} ready={ready}>
      <TextField
        label="Endpoint"
        type="url"
        hint="Of an OTLP/HTTP collector, before /v1/logs"
        placeholder="https://otlp.example.com"
        disabled={refusal !== null}
        value={endpoint}
        onChange={(event) => setEndpoint(event.target.value)}
      />
      <fieldset className={e.events} disabled={refusal !== null}>
        <legend className={u.label}>Signals</legend>
        {SIGNALS.map((name) => (
          <CheckField
            key={name}
            label={SIGNAL_TEXT[name]}
            checked={signals.includes(name)}
            onChange={(event) =>
              setSignals(event.target.checked ? [...signals, name] : signals.filter((one) => one !== name))
            }
          />
        ))}
      </fieldset>
      <TextField
        label="Header"
        disabled={refusal !== null}
        value={header}
        onChange={(event) => setHeader(event.target.value)}
      />
      <TextField
        label="Value of the header"
        type="password"
        hint="A secret, which is never shown again"
        disabled={refusal !== null}
        value={value}
        onChange={(event) => setValue(event.target.value)}
      />
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={!ready}>
        Add drain
      </Button>
      {add.error ? <ErrorNotice title="The drain was not added" error={add.error} /> : null}
    </WriteForm>
  );
}

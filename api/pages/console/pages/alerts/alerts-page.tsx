import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas, Service } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ListCard } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { AddForm, useFields } from '../../ui/form.js';
import { Empty, Skeleton } from '../../ui/states.js';
import { Status } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import e from '../hooks/endpoints.module.css';
import { useWorkspaceId } from '../page.js';
import { METRIC, METRICS, type Metric, ruleText, STATUS, valueText } from './alert-text.js';

const PATH = '/workspaces/{workspaceId}/alerts';
const EVERY = 'Every service';
type Alert = Schemas['Alert'];

export function AlertsPage() {
  const workspaceId = useWorkspaceId();
  const refusal = useRefusal(workspaceId, 'developer');
  const query = useGet(PATH, { path: { workspaceId }, query: { limit: 50 } });
  const services = useGet('/workspaces/{workspaceId}/services', { path: { workspaceId } });
  const names = new Map(services.data?.services.map(({ id, name }) => [id, name]));
  const { ask, target, dialog } = useConfirmation(({ id }: Alert) =>
    remove(`${PATH}/{alertId}`, { path: { workspaceId, alertId: id } }),
  );
  return (
    <>
      <ListCard
        title="Alert rules"
        query={query}
        skeleton={<Skeleton rows={2} height={90} />}
        items={({ alerts }) => alerts}
        empty={
          <Empty title="No alert rules yet">
            Get a message when a service is too slow, fails or runs out of room. Webhooks with the events of alerts
            receive it, and the notification e-mail address of the workspace.
          </Empty>
        }
        add={<AddAlert refusal={refusal} services={services.data?.services ?? []} />}
      >
        {(alert) => (
          <AlertRow alert={alert} scope={names.get(alert.serviceId ?? '') ?? EVERY}>
            <Button small refusal={refusal} aria-label={`Delete ${ruleText(alert)}`} onClick={() => ask(alert)}>
              Delete
            </Button>
          </AlertRow>
        )}
      </ListCard>
      <ConfirmDialog {...dialog} title="Delete this alert rule?" action="Delete">
        {target === null ? null : ruleText(target)}: no message is sent any more.
      </ConfirmDialog>
    </>
  );
}

function AlertRow({ alert, scope, children }: { alert: Alert; scope: string; children: React.ReactNode }) {
  return (
    <li className={e.endpoint}>
      <div className={e.head}>
        <strong>{ruleText(alert)}</strong>
        {children}
      </div>
      <p className={u.dim}>{scope}</p>
      {alert.states.length === 0 ? <p className={u.dim}>Not looked at yet</p> : null}
      {alert.states.map((state) => (
        <div key={state.serviceId} className={u.row}>
          <Status tone={STATUS[state.status].tone}>{STATUS[state.status].text}</Status>
          <span>
            {alert.serviceId === null ? `${state.serviceName} ` : ''}
            {state.value === null ? '' : valueText(alert.metric, state.value)}
          </span>
          {state.since === null ? null : (
            <span className={u.dim}>
              since <Ago at={state.since} />
            </span>
          )}
        </div>
      ))}
    </li>
  );
}

function AddAlert({ refusal, services }: { refusal: string | null; services: readonly Service[] }) {
  const path = { workspaceId: useWorkspaceId() };
  const { values, set, field } = useFields({ metric: 'errors' as Metric, above: '5', minutes: '5', serviceId: '' });
  const { metric, above, minutes, serviceId } = values;
  const body = { metric, above: Number(above), forMinutes: Number(minutes), serviceId: serviceId || undefined };
  const add = useWrite(() => post(PATH, { path, body }));
  return (
    <AddForm
      className={`${e.add} ${e.wide}`}
      write={add}
      ready={above.trim() !== '' && Number.isFinite(body.above) && Number.isInteger(body.forMinutes)}
      refusal={refusal}
      action="Add alert rule"
      failure="The alert rule was not added"
    >
      <SelectField
        label="Watch"
        options={METRICS}
        value={metric}
        onChange={(chosen) => set({ metric: chosen, above: METRIC[chosen].usual })}
      />
      <TextField
        label={metric === 'certificate' ? 'Fewer than' : 'Above'}
        hint={METRIC[metric].unit}
        inputMode="decimal"
        {...field('above')}
      />
      <TextField label="For minutes" inputMode="numeric" {...field('minutes')} />
      <SelectField
        label="Service"
        options={[{ value: '', text: EVERY }, ...services.map(({ id, name }) => ({ value: id, text: name }))]}
        {...field('serviceId')}
      />
    </AddForm>
  );
}

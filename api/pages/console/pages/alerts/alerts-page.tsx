import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { Status } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import e from '../hooks/endpoints.module.css';
import { AddAlert } from './add-alert.js';
import { ruleText, STATUS, valueText } from './alert-text.js';

const PATH = '/workspaces/{workspaceId}/alerts';
type Alert = Schemas['Alert'];

/** The alert rules of a workspace, with their state for each service. */
export function AlertsPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId' });
  const refusal = useRefusal(workspaceId, 'developer');
  const [leaving, setLeaving] = useState<Alert | null>(null);
  const query = useGet(PATH, { path: { workspaceId }, query: { limit: 50 } });
  const services = useGet('/workspaces/{workspaceId}/services', { path: { workspaceId } });
  const names = new Map(services.data?.services.map(({ id, name }) => [id, name]));
  const end = useWrite((alertId: string) => remove(`${PATH}/{alertId}`, { path: { workspaceId, alertId } }), {
    onDone: () => setLeaving(null),
  });
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={90} />}>
        {({ alerts }) => (
          <section className={u.card}>
            <div className={u.cardHead}>
              <h2>Alert rules</h2>
            </div>
            {alerts.length === 0 ? (
              <Empty title="No alert rules yet">
                Get a message when a service is too slow, fails or runs out of room. Webhooks with the events of alerts
                receive it, and the notification e-mail address of the workspace.
              </Empty>
            ) : (
              <ul>
                {alerts.map((alert) => (
                  <AlertRow key={alert.id} alert={alert} scope={names.get(alert.serviceId ?? '') ?? 'Every service'}>
                    <Button
                      small
                      refusal={refusal}
                      aria-label={`Delete ${ruleText(alert)}`}
                      onClick={() => setLeaving(alert)}
                    >
                      Delete
                    </Button>
                  </AlertRow>
                ))}
              </ul>
            )}
            <AddAlert workspaceId={workspaceId} refusal={refusal} services={services.data?.services ?? []} />
          </section>
        )}
      </Loaded>
      <ConfirmDialog
        title="Delete this alert rule?"
        action="Delete"
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        onConfirm={() => leaving && end.mutate(leaving.id)}
        write={end}
      >
        {leaving === null ? null : ruleText(leaving)}: no message is sent any more.
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

import { useState } from 'react';
import { post } from '../../api/client.js';
import { useGet, useWrite } from '../../api/hooks.js';
import { useRefusal } from '../../api/session.js';
import type { Run } from '../../api/types.js';
import { Button } from '../../ui/button.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { RUN_STATUS } from '../../ui/status.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { useService, useServicePath } from './service-shell.js';

const RUNS = '/workspaces/{workspaceId}/services/{serviceId}/runs';

export function isOpen({ status }: Run): boolean {
  return status === 'queued' || status === 'running';
}

/** Was the last run good? The runs of a cron service, newest first. */
export function RunsPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal =
    role ?? (service.liveDeploymentId === null ? 'The service has no live release yet: deploy it first' : null);
  const [limit, setLimit] = useState(FIRST_ROWS);
  const query = useGet(RUNS, { path, query: { limit } }, { working: ({ runs }) => runs.some(isOpen), keep: true });
  const start = useWrite(() => post(RUNS, { path }), { onDone: () => toast('A run is queued') });
  const cancel = useWrite((runId: string) => post(`${RUNS}/{runId}/cancel`, { path: { ...path, runId } }));
  const now = (
    <Button look="primary" pending={start.isPending} refusal={refusal} onClick={() => start.mutate()}>
      Run now
    </Button>
  );
  return (
    <>
      {start.error ? <ErrorNotice title="The run was not queued" error={start.error} /> : null}
      {cancel.error ? <ErrorNotice title="The run was not cancelled" error={cancel.error} /> : null}
      <section className={u.card}>
        <div className={u.cardHead}>
          <h2>
            <code>{service.configuration.schedule}</code> in {service.configuration.timezone}
          </h2>
          {now}
        </div>
        <Loaded query={query} skeleton={<Skeleton rows={4} height={52} />}>
          {({ runs }) =>
            runs.length === 0 ? (
              <Empty title="No runs yet">
                The start command runs at each time of the schedule. Run it now to try it.
              </Empty>
            ) : (
              <ul>
                {runs.map((run) => (
                  <HistoryRow
                    key={run.id}
                    status={RUN_STATUS[run.status]}
                    title={titleOf(run)}
                    detail={run.error === '' ? undefined : run.error}
                    at={run.scheduledAt}
                    startedAt={run.startedAt}
                    finishedAt={run.finishedAt}
                  >
                    {isOpen(run) ? (
                      <Button small refusal={role} pending={cancel.isPending} onClick={() => cancel.mutate(run.id)}>
                        Cancel
                      </Button>
                    ) : null}
                  </HistoryRow>
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <div className={u.actions}>
        <ShowOlder hasMore={query.data?.page.hasMore === true} limit={limit} onLimit={setLimit} />
      </div>
    </>
  );
}

function titleOf({ trigger, attempt, exitCode }: Run): string {
  return [
    trigger === 'manual' ? 'Manual run' : 'Scheduled',
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(exitCode === null || exitCode === 0 ? [] : [`exit code ${exitCode}`]),
  ].join(', ');
}

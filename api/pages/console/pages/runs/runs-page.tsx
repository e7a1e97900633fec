import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { RUN_STATUS } from '../../ui/status.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { useService, useServicePath } from '../services/service-shell.js';
import { RunCommand } from './run-command.js';
import { circumstances, isOpen, RUNS } from './run-text.js';

export function RunsPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal =
    role ?? (service.liveDeploymentId === null ? 'The service has no live release yet: deploy it first' : null);
  const [limit, setLimit] = useState(FIRST_ROWS);
  const query = useGet(RUNS, { path, query: { limit } }, { working: ({ runs }) => runs.some(isOpen), keep: true });
  const start = useWrite(() => post(RUNS, { path, body: {} }), { onDone: () => toast('A run is queued') });
  const cancel = useWrite((runId: string) => post(`${RUNS}/{runId}/cancel`, { path: { ...path, runId } }));
  const { kind, configuration } = service;
  return (
    <>
      {start.error ? <ErrorNotice title="The run was not queued" error={start.error} /> : null}
      {cancel.error ? <ErrorNotice title="The run was not cancelled" error={cancel.error} /> : null}
      <section className={u.card}>
        <div className={u.cardHead}>
          <h2>
            {kind === 'cron' ? (
              <>
                <code>{configuration.schedule}</code> in {configuration.timezone}
              </>
            ) : (
              'Runs of commands'
            )}
          </h2>
          <div className={u.actions}>
            {kind === 'cron' ? (
              <Button pending={start.isPending} refusal={refusal} onClick={() => start.mutate()}>
                Run now
              </Button>
            ) : null}
            <RunCommand path={path} refusal={refusal} />
          </div>
        </div>
        <Loaded query={query} skeleton={<Skeleton rows={4} height={52} />}>
          {({ runs }) =>
            runs.length === 0 ? (
              <Empty title="No runs yet">
                {kind === 'cron'
                  ? 'The start command runs at each time of the schedule. Run it now to try it.'
                  : 'Commands run with the image and the variables of the live release. Pre-deploy commands are listed here, too.'}
              </Empty>
            ) : (
              <ul>
                {runs.map((run) => (
                  <HistoryRow
                    key={run.id}
                    status={RUN_STATUS[run.status]}
                    title={
                      <Link to="/w/$workspaceId/s/$serviceId/runs/$runId" params={{ ...path, runId: run.id }}>
                        {run.command ?? circumstances(run)}
                      </Link>
                    }
                    detail={run.error || (run.command === null ? undefined : circumstances(run))}
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

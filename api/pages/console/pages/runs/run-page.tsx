import { Link, useParams } from '@tanstack/react-router';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import { RUN_STATUS, Status } from '../../ui/status.js';
import { Ago, Took } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import d from '../deployments/deployments.module.css';
import { LogView } from '../logs/log-view.js';
import c from '../shell.module.css';
import { circumstances, isOpen, RUNS } from './run-text.js';

export function RunPage() {
  const { runId, ...path } = useParams({ from: '/w/$workspaceId/s/$serviceId/runs/$runId' });
  const role = useRefusal(path.workspaceId, 'developer');
  const one = { path: { ...path, runId } };
  const query = useGet(`${RUNS}/{runId}`, one, { working: ({ run }) => isOpen(run) });
  const cancel = useWrite(() => post(`${RUNS}/{runId}/cancel`, one));
  return (
    <Loaded query={query} skeleton={<Skeleton rows={3} height={124} />}>
      {({ run }) => (
        <>
          <div className={c.head}>
            <div className={u.stack} style={{ gap: 4 }}>
              <div className={u.row}>
                <Status tone={RUN_STATUS[run.status].tone}>{RUN_STATUS[run.status].text}</Status>
                <h2>{run.command === null ? "The service's own command" : <code>{shortened(run.command)}</code>}</h2>
              </div>
              <div className={d.meta}>
                <span>
                  {circumstances(run)}, <Ago at={run.scheduledAt} />
                </span>
                <Took startedAt={run.startedAt} finishedAt={run.finishedAt} />
                <Link
                  to="/w/$workspaceId/s/$serviceId/d/$deploymentId"
                  params={{ ...path, deploymentId: run.deploymentId }}
                >
                  Release
                </Link>
              </div>
            </div>
            {isOpen(run) ? (
              <Button refusal={role} pending={cancel.isPending} onClick={() => cancel.mutate()}>
                Cancel
              </Button>
            ) : null}
          </div>
          {cancel.error ? <ErrorNotice title="The run was not cancelled" error={cancel.error} /> : null}
          {run.error === '' ? null : (
            <Notice tone="bad" title={`The run ${run.status === 'skipped' ? 'was skipped' : 'failed'}`}>
              <div className={d.error}>{run.error}</div>
            </Notice>
          )}
          <LogView key={run.id} filter={{ runId: run.id }} working={isOpen(run)} title="Log" />
        </>
      )}
    </Loaded>
  );
}

const SHOWN_LENGTH = 200;

function shortened(command: string): string {
  return command.length > SHOWN_LENGTH ? `${command.slice(0, SHOWN_LENGTH)}…` : command;
}

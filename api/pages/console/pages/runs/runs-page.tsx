import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Items } from '../../ui/card.js';
import { Dialog, DialogForm } from '../../ui/dialog.js';
import { AreaField, TextField } from '../../ui/field.js';
import { useFields } from '../../ui/form.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { RUN_STATUS } from '../../ui/status.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { useService, useServicePath } from '../services/service-shell.js';
import { circumstances, isOpen, RUNS } from './run-text.js';

const MAX_COMMAND_LENGTH = 16_384;
const MAX_MINUTES = 24 * 60;

export function RunsPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal =
    role ?? (service.liveDeploymentId === null ? 'The service has no live release yet: deploy it first' : null);
  const [limit, setLimit] = useState(FIRST_ROWS);
  const query = useGet(RUNS, { path, query: { limit } }, { working: ({ runs }) => runs.some(isOpen), keep: true });
  const start = useWrite(
    () => post(RUNS, { path, body: {} }),
    () => toast('A run is queued'),
  );
  const cancel = useWrite((runId: string) => post(`${RUNS}/{runId}/cancel`, { path: { ...path, runId } }));
  const { kind, configuration } = service;
  return (
    <>
      {start.error ? <ErrorNotice title="The run was not queued" error={start.error} /> : null}
      {cancel.error ? <ErrorNotice title="The run was not cancelled" error={cancel.error} /> : null}
      <Card
        title={
          kind === 'cron' ? (
            <>
              <code>{configuration.schedule}</code> in {configuration.timezone}
            </>
          ) : (
            'Runs of commands'
          )
        }
        actions={
          <div className={u.actions}>
            {kind === 'cron' ? (
              <Button pending={start.isPending} refusal={refusal} onClick={() => start.mutate()}>
                Run now
              </Button>
            ) : null}
            <RunCommand refusal={refusal} />
          </div>
        }
      >
        <Loaded query={query} skeleton={<Skeleton rows={4} height={52} />}>
          {({ runs }) => (
            <Items
              items={runs}
              empty={
                <Empty title="No runs yet">
                  {kind === 'cron'
                    ? 'The start command runs at each time of the schedule. Run it now to try it.'
                    : 'Commands run with the image and the variables of the live release. Pre-deploy commands are listed here, too.'}
                </Empty>
              }
            >
              {(run) => (
                <HistoryRow
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
              )}
            </Items>
          )}
        </Loaded>
      </Card>
      <div className={u.actions}>
        <ShowOlder hasMore={query.data?.page.hasMore === true} limit={limit} onLimit={setLimit} />
      </div>
    </>
  );
}

function RunCommand({ refusal }: { refusal: string | null }) {
  const path = useServicePath();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const { values, field } = useFields({ command: '', minutes: '60' });
  const { command, minutes } = values;
  const seconds = Number(minutes) * 60;
  const ready = command.trim() !== '' && Number.isInteger(seconds) && seconds > 0 && seconds <= MAX_MINUTES * 60;
  const start = useWrite(
    () => post(RUNS, { path, body: { command: command.trim(), timeoutSeconds: seconds } }),
    ({ run }) => navigate({ to: '/w/$workspaceId/s/$serviceId/runs/$runId', params: { ...path, runId: run.id } }),
  );
  const close = () => setOpen(false);
  return (
    <>
      <Button look="primary" refusal={refusal} onClick={() => setOpen(true)}>
        Run a command
      </Button>
      <Dialog title="Run a command" open={open} onClose={close}>
        <DialogForm write={start} ready={ready} action="Run" failure="The run was not queued" onClose={close}>
          <AreaField
            label="Command"
            hint="A shell command, such as npm run migrate. It runs with the image, variables and network of the live release."
            maxLength={MAX_COMMAND_LENGTH}
            {...field('command')}
          />
          <TextField label="Timeout in minutes" type="number" min={1} max={MAX_MINUTES} {...field('minutes')} />
        </DialogForm>
      </Dialog>
    </>
  );
}

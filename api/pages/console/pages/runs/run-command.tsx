import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { AreaField, TextField } from '../../ui/field.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import { RUNS } from './run-text.js';

const MAX_COMMAND_LENGTH = 16_384;
const MAX_MINUTES = 24 * 60;

/** A button that asks for a command and a timeout, starts the run, and opens the run's page. */
export function RunCommand({
  path,
  refusal,
}: {
  path: { workspaceId: string; serviceId: string };
  refusal: string | null;
}) {
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const [command, setCommand] = useState('');
  const [minutes, setMinutes] = useState('60');
  const seconds = Number(minutes) * 60;
  const ready = command.trim() !== '' && Number.isInteger(seconds) && seconds > 0 && seconds <= MAX_MINUTES * 60;
  const start = useWrite(() => post(RUNS, { path, body: { command: command.trim(), timeoutSeconds: seconds } }), {
    onDone: ({ run }) =>
      navigate({ to: '/w/$workspaceId/s/$serviceId/runs/$runId', params: { ...path, runId: run.id } }),
  });
  const write = { isPending: start.isPending, mutate: () => start.mutate() };
  return (
    <>
      <Button look="primary" refusal={refusal} onClick={() => setOpen(true)}>
        Run a command
      </Button>
      <Dialog title="Run a command" open={open} onClose={() => setOpen(false)}>
        <WriteForm write={write} ready={ready} className={u.stack}>
          <AreaField
            label="Command"
            hint="A shell command, such as npm run migrate. It runs with the image, variables and network of the live release."
            maxLength={MAX_COMMAND_LENGTH}
            value={command}
            onChange={(event) => setCommand(event.target.value)}
          />
          <TextField
            label="Timeout in minutes"
            type="number"
            min={1}
            max={MAX_MINUTES}
            value={minutes}
            onChange={(event) => setMinutes(event.target.value)}
          />
          {start.error ? <ErrorNotice title="The run was not queued" error={start.error} /> : null}
          <DialogFoot>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button look="primary" type="submit" disabled={!ready} pending={start.isPending}>
              Run
            </Button>
          </DialogFoot>
        </WriteForm>
      </Dialog>
    </>
  );
}

import { useState } from 'react';
import { useRefusal } from '../../api/session.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Notice } from '../../ui/states.js';
import { useServicePath } from '../services/service-shell.js';
import s from './shell.module.css';
import { useShell } from './use-shell.js';

/** A terminal in a running replica of the service. */
export function ShellPage() {
  const path = useServicePath();
  const role = useRefusal(path.workspaceId, 'developer');
  const [attempt, setAttempt] = useState(role === null ? 0 : -1);
  const [wanted, setWanted] = useState('');
  const { place, search, state } = useShell(path, attempt);
  return (
    <>
      <div className={s.bar}>
        <TextField
          label="Search in the output"
          type="search"
          maxLength={200}
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') search.current?.findPrevious(wanted);
          }}
        />
        <Button refusal={role} onClick={() => setAttempt(attempt + 1)}>
          {attempt < 0 ? 'Open a shell' : 'Open a new shell'}
        </Button>
      </div>
      {state.is === 'ended' ? (
        <Notice tone="plain" title="The shell has ended">
          {state.why}
        </Notice>
      ) : null}
      <section ref={place} className={s.terminal} aria-label="Terminal" />
      <p>
        It runs beside the application, with its variables and limits, and ends with this page, or after 15 minutes
        without input or output. Your own terminal opens it with <code>rnv shell</code>.
      </p>
    </>
  );
}

import { useState } from 'react';
import { useRefusal } from '../../api/session.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Notice } from '../../ui/states.js';
import { useServicePath } from '../services/service-shell.js';
import { Recordings } from './recordings.js';
import s from './shell.module.css';
import { useShell } from './use-shell.js';

export function ShellPage() {
  const path = useServicePath();
  const role = useRefusal(path.workspaceId, 'developer');
  const admin = useRefusal(path.workspaceId, 'admin');
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
          onChange={setWanted}
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
        The shell runs beside the application, with its variables and limits. It ends when you leave this page, or after
        15 minutes without input or output. In your own terminal, use <code>rnv shell</code>.
      </p>
      {admin === null ? <Recordings /> : null}
    </>
  );
}

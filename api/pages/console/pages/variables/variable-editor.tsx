import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { ApiError } from '../../api/api-client.js';
import type { Variable } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { Empty, ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { UnsavedGuard } from '../../ui/unsaved-guard.js';
import f from '../settings/settings.module.css';
import { AddVariable } from './add-variable.js';
import { type Changes, changesOf, type Edits, keysOf, summaryOf } from './edits.js';
import { PasteDialog } from './paste-dialog.js';
import { VariableTable } from './variable-table.js';

/** Edits the variables of a service or a group, and saves all changes together. Stored values cannot be read. */
export function VariableEditor({
  workspaceId,
  serviceId,
  query,
  write,
  refusal,
  children,
}: {
  workspaceId: string;
  /** The service that has the variables; null for a group. */
  serviceId: string | null;
  query: Pick<UseQueryResult<{ variables: Variable[] }, ApiError>, 'data' | 'error' | 'refetch'>;
  write: (changes: Changes) => Promise<unknown>;
  refusal: string | null;
  /** Shown after saving: when the changes take effect, and a button to deploy. */
  children: ReactNode;
}) {
  const [edits, setEdits] = useState<Edits>({});
  const [pasting, setPasting] = useState(false);
  const [saved, setSaved] = useState(false);
  const save = useWrite(
    () => write(changesOf(edits)),
    () => {
      setEdits({});
      setSaved(true);
    },
  );
  const edit = (change: Edits) => {
    setSaved(false);
    setEdits((before) => ({ ...before, ...change }));
  };
  return (
    <Loaded query={query} skeleton={<Skeleton rows={4} height={48} />}>
      {({ variables }) => {
        const keys = keysOf(variables, edits);
        const count = Object.keys(edits).length;
        return (
          <>
            <UnsavedGuard dirty={count > 0} />
            <Card
              title="Variables"
              actions={
                <Button small refusal={refusal} onClick={() => setPasting(true)}>
                  Add from .env
                </Button>
              }
            >
              {keys.length === 0 ? (
                <Empty title="No variables yet">
                  Variables configure your application: builds and running replicas get them as environment variables.
                </Empty>
              ) : (
                <VariableTable
                  keys={keys}
                  variables={variables}
                  edits={edits}
                  refusal={refusal}
                  onEdit={edit}
                  onUndo={(key) => setEdits(({ [key]: _, ...rest }) => rest)}
                />
              )}
              <AddVariable
                workspaceId={workspaceId}
                serviceId={serviceId}
                refusal={refusal}
                known={keys}
                onAdd={(key, content) => edit({ [key]: content })}
              />
            </Card>
            {save.error ? <ErrorNotice title="The changes were not saved" error={save.error} /> : null}
            {saved ? (
              <Notice tone="good" title="Saved">
                {children}
              </Notice>
            ) : null}
            {count === 0 ? null : (
              <div className={`${f.bar} ${f.dirty}`}>
                <span>{summaryOf(variables, edits)}</span>
                <div className={u.actions}>
                  <Button onClick={() => setEdits({})}>Discard</Button>
                  <Button look="primary" pending={save.isPending} refusal={refusal} onClick={() => save.mutate()}>
                    {save.isPending ? 'Saving…' : 'Save'}
                  </Button>
                </div>
              </div>
            )}
            {pasting ? <PasteDialog variables={variables} onClose={() => setPasting(false)} onTake={edit} /> : null}
          </>
        );
      }}
    </Loaded>
  );
}

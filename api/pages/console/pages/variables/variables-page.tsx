import { useState } from 'react';
import { put } from '../../api/client.js';
import { useGet, useWrite } from '../../api/hooks.js';
import { useRefusal } from '../../api/session.js';
import { Button } from '../../ui/button.js';
import { Empty, ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { UnsavedGuard } from '../../ui/unsaved-guard.js';
import { DeployButton } from '../services/deploy-button.js';
import { useService, useServicePath } from '../services/service-shell.js';
import f from '../settings/settings.module.css';
import { AddVariable } from './add-variable.js';
import { changesOf, type Edits, keysOf, summaryOf } from './edits.js';
import { PasteDialog } from './paste-dialog.js';
import { VariableTable } from './variable-table.js';

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/variables';

/** Which variables are set. Values are written and never read back: what is stored is not shown to anybody. */
export function VariablesPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal = role ?? (service.status === 'deleting' ? 'The service is being deleted' : null);
  const [edits, setEdits] = useState<Edits>({});
  const [pasting, setPasting] = useState(false);
  const [saved, setSaved] = useState(false);
  const query = useGet(PATH, { path });
  const save = useWrite(() => put(PATH, { path, body: changesOf(edits) }), {
    onDone: () => {
      setEdits({});
      setSaved(true);
    },
  });
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
            <section className={u.card}>
              <div className={u.cardHead}>
                <h2>Variables</h2>
                <Button small refusal={refusal} onClick={() => setPasting(true)}>
                  Paste a .env file
                </Button>
              </div>
              {keys.length === 0 ? (
                <Empty title="No variable is set">Builds and the application get them as environment variables.</Empty>
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
              <AddVariable refusal={refusal} known={keys} onAdd={(key, content) => edit({ [key]: content })} />
            </section>
            {save.error ? <ErrorNotice title="Nothing was saved" error={save.error} /> : null}
            {saved ? (
              <Notice tone="good" title="Saved">
                <p>The next deployment gets them; what runs keeps what it has.</p>
                <div>
                  <DeployButton workspaceId={path.workspaceId} service={service} text="Deploy now" />
                </div>
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

import { useParams } from '@tanstack/react-router';
import { patch } from '../../api/client.js';
import { useFieldSchemas } from '../../api/document.js';
import { useGet, useWrite } from '../../api/hooks.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas, Workspace } from '../../api/types.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { SchemaForm, type Values } from '../settings/schema-form.js';
import w from './workspace.module.css';
import { WORKSPACE_GROUPS } from './workspace-fields.js';

const PATH = '/workspaces/{workspaceId}';

/** What the workspace uses and how it is set. */
export function WorkspacePage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId' });
  const refusal = useRefusal(workspaceId, 'admin');
  const query = useGet(PATH, { path: { workspaceId } });
  const schemas = useFieldSchemas('WorkspaceConfiguration');
  const save = useWrite(
    (configuration: Values) =>
      patch(PATH, {
        path: { workspaceId },
        body: { configuration: configuration as Schemas['PartialWorkspaceConfiguration'] },
      }),
    { onDone: () => toast('Saved') },
  );
  return (
    <Loaded query={query} skeleton={<Skeleton rows={3} height={180} />}>
      {({ workspace }) => (
        <>
          <Usage workspace={workspace} />
          <Loaded query={schemas} skeleton={<Skeleton rows={3} height={200} />}>
            {(fields) => (
              <SchemaForm
                groups={WORKSPACE_GROUPS}
                schemas={fields}
                values={workspace.configuration}
                refusal={refusal}
                pending={save.isPending}
                error={save.error}
                onSave={(changes) => save.mutateAsync(changes)}
              />
            )}
          </Loaded>
        </>
      )}
    </Loaded>
  );
}

function Usage({ workspace: { plan, entitlements, billing } }: { workspace: Workspace }) {
  const of = ({ used, limit }: { used: number; limit: number | null }) =>
    `${Math.round(used * 10) / 10}${limit === null ? '' : ` of ${limit}`}`;
  const facts: [string, string][] = [
    ['Plan', plan],
    ['Services', of(entitlements.services)],
    ['Build minutes this month', of(entitlements.buildMinutes)],
    ['Builds at once', String(entitlements.buildConcurrency)],
    ['Logs are kept', `${entitlements.logDays} ${entitlements.logDays === 1 ? 'day' : 'days'}`],
    ['Estimated a month', `${billing.estimatedMonthly} ${billing.currency}`],
  ];
  return (
    <dl className={`${u.card} ${w.usage}`}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

import type { ApiError } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice, Notice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import n from '../new/new.module.css';
import t from './templates.module.css';

interface Apply {
  error: ApiError | null;
  isPending: boolean;
  mutate: () => void;
}

/** Shows what an apply would change, and the document, before it is applied. */
export function PlanCard({
  plan,
  document,
  refusal,
  apply,
}: {
  plan: Schemas['StackPlan'];
  document: string;
  refusal: string | null;
  apply: Apply;
}) {
  const { changes, deploys, warnings, destructive } = plan;
  const replacing =
    'It deletes or replaces something: give the stack another name, or use rnv apply, which asks for it';
  return (
    <section className={`${u.card} ${u.cardBody} ${u.stack}`} aria-label="Plan">
      <h2>{changes.length === 0 ? 'Nothing to change' : 'What will change'}</h2>
      <ul className={t.changes}>
        {changes.map(({ action, kind, name }) => (
          <li key={`${kind} ${name}`}>
            {action} {kind} <strong>{name}</strong>
          </li>
        ))}
      </ul>
      {deploys.length === 0 ? null : <p>Deploys {deploys.join(', ')}.</p>}
      {warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
      <details className={n.more}>
        <summary>ranvier.yaml</summary>
        <pre className={`${u.mono} ${u.tableWrap}`}>{document}</pre>
      </details>
      {apply.error ? <ErrorNotice title="The plan was not applied" error={apply.error} /> : null}
      <div className={u.actions}>
        <Button
          look="primary"
          refusal={destructive ? replacing : refusal}
          pending={apply.isPending}
          disabled={changes.length === 0}
          onClick={() => apply.mutate()}
        >
          Apply
        </Button>
      </div>
    </section>
  );
}

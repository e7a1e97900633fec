import type { Schemas } from '../../api/types.js';
import { Notice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { ACTIONS, type ChangeRow, countsOf, type FieldRow, rowsOf } from './plan-text.js';
import t from './stacks.module.css';

export function PlanView({
  changes,
  warnings,
  deploys = [],
  release = 'separate',
}: {
  changes: readonly Schemas['StackChange'][];
  warnings: readonly string[];
  deploys?: readonly string[];
  release?: Schemas['StackApply']['release'];
}) {
  return (
    <>
      {changes.length === 0 ? null : (
        <>
          <p className={t.counts}>
            {countsOf(changes).map(({ text, tone }) => (
              <span key={text} className={u[tone]}>
                {text}
              </span>
            ))}
          </p>
          <ul className={t.changes} aria-label="Changes">
            {rowsOf(changes).map((row) => (
              <Change key={`${row.action} ${row.kind} ${row.name}`} row={row} />
            ))}
          </ul>
        </>
      )}
      {deploys.length === 0 ? null : (
        <p>
          Deploys {deploys.join(', ')}
          {release === 'together' && deploys.length > 1 ? ', all together or none.' : '.'}
        </p>
      )}
      {warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
    </>
  );
}

function Change({ row: { sign, action, kind, name, fields } }: { row: ChangeRow }) {
  const { word, tone } = ACTIONS[action];
  return (
    <li className={`${t.change} ${t[action]}`}>
      <span className={`${t.sign} ${u[tone]}`} aria-hidden="true">
        {sign}
      </span>
      <span>
        {word} {kind} <strong>{name}</strong>
      </span>
      {fields.length === 0 ? null : (
        <dl className={t.fields}>
          {fields.map((field) => (
            <Field key={field.field} {...field} />
          ))}
        </dl>
      )}
    </li>
  );
}

function Field({ field, from, to }: FieldRow) {
  return (
    <>
      <dt>{field}</dt>
      <dd>
        {from === null ? null : <span className={t.from}>{from}</span>}
        {from === null || to === null ? null : ' → '}
        {to === null ? null : <span className={t.to}>{to}</span>}
      </dd>
    </>
  );
}

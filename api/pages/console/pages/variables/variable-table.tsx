import { useState } from 'react';
import type { Variable } from '../../api/types.js';
import { Button } from '../../ui/button.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { type Content, type Edits, SCOPES, type Scope, scopeText } from './edits.js';
import v from './variables.module.css';

export function VariableTable({
  keys,
  variables,
  edits,
  refusal,
  onEdit,
  onUndo,
}: {
  keys: readonly string[];
  variables: readonly Variable[];
  edits: Edits;
  refusal: string | null;
  onEdit: (change: Edits) => void;
  onUndo: (key: string) => void;
}) {
  const stored = new Map(variables.map((variable) => [variable.key, variable]));
  return (
    <ul>
      {keys.map((key) => (
        <Row
          key={key}
          name={key}
          variable={stored.get(key)}
          edit={edits[key]}
          refusal={refusal}
          onEdit={(edit) => onEdit({ [key]: edit })}
          onUndo={() => onUndo(key)}
        />
      ))}
    </ul>
  );
}

function Row({
  name,
  variable,
  edit,
  refusal,
  onEdit,
  onUndo,
}: {
  name: string;
  variable: Variable | undefined;
  edit: Content | null | undefined;
  refusal: string | null;
  onEdit: (edit: Content | null) => void;
  onUndo: () => void;
}) {
  const [typing, setTyping] = useState(false);
  const scope = edit?.scope ?? variable?.scope ?? 'all';
  const state = edit === undefined ? '' : edit === null ? 'will be deleted' : variable ? 'will be replaced' : 'new';
  return (
    <li className={`${v.row} ${edit === undefined ? '' : v.edited}`}>
      <code className={edit === null ? v.deleted : undefined}>{name}</code>
      <div className={v.value}>
        {typing ? (
          // The edit ends when the focus leaves both fields, not when it moves between them.
          <fieldset
            className={v.typing}
            aria-label={`New content of ${name}`}
            onBlur={(event) => {
              if (!event.currentTarget.contains(event.relatedTarget)) setTyping(false);
            }}
          >
            <input
              className={u.input}
              type="password"
              autoComplete="new-password"
              aria-label={`New value of ${name}`}
              // biome-ignore lint/a11y/noAutofocus: the field replaces the button that was pressed
              autoFocus
              value={edit && 'value' in edit ? edit.value : ''}
              onChange={(event) => onEdit({ value: event.target.value, scope })}
              onKeyDown={(event) => {
                if (event.key === 'Enter') setTyping(false);
              }}
            />
            <select
              className={u.input}
              aria-label={`Where ${name} is set`}
              // The scope can be changed only together with the value, because the stored value cannot be read.
              disabled={!edit}
              value={scope}
              onChange={(event) => edit && onEdit({ ...edit, scope: event.target.value as Scope })}
            >
              {SCOPES.map(({ value, text }) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </fieldset>
        ) : (
          <span className={u.dim}>
            {state !== '' ? state : variable?.kind === 'reference' ? 'refers to another service' : 'set, value hidden'}
            {scope === 'all' ? '' : `, for ${scopeText(scope).toLowerCase()} only`}
          </span>
        )}
      </div>
      <span className={`${v.time} ${u.dim}`}>
        {variable && edit === undefined ? <Ago at={variable.updatedAt} /> : null}
      </span>
      <div className={v.actions}>
        {edit === undefined ? (
          <>
            <Button small look="quiet" refusal={refusal} aria-label={`Replace ${name}`} onClick={() => setTyping(true)}>
              Replace
            </Button>
            <Button small look="quiet" refusal={refusal} aria-label={`Delete ${name}`} onClick={() => onEdit(null)}>
              Delete
            </Button>
          </>
        ) : (
          <Button small look="quiet" aria-label={`Undo ${name}`} onClick={onUndo}>
            Undo
          </Button>
        )}
      </div>
    </li>
  );
}

import { type FormEvent, type ReactNode, useState } from 'react';
import type { ApiError } from '../../api/api-client.js';
import type { FieldSchemas } from '../../api/field-schemas.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { UnsavedGuard } from '../../ui/unsaved-guard.js';
import { SchemaField } from './schema-field.js';
import f from './settings.module.css';

export type Values = Readonly<Record<string, unknown>>;

export interface FieldText {
  name: string;
  label: string;
  hint: string;
  /** When a change takes effect; at once if absent. */
  effect?: string;
  /**
   * If it returns false, the form hides the field, unless the field differs from the default, was changed or has an
   * error.
   */
  applies?: (values: Values) => boolean;
}

export interface FieldGroup {
  title: string;
  fields: readonly FieldText[];
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Saves only changed fields. A poll of the API never overwrites the user's input. */
export function SchemaForm({
  groups,
  schemas,
  values,
  refusal,
  save: { isPending, error, mutateAsync },
  children,
}: {
  groups: readonly FieldGroup[];
  schemas: FieldSchemas;
  values: Values;
  refusal: string | null;
  save: { isPending: boolean; error: ApiError | null; mutateAsync: (changes: Values) => Promise<unknown> };
  children?: ReactNode;
}) {
  const [draft, setDraft] = useState<Values>({});
  const changes = Object.fromEntries(Object.entries(draft).filter(([name, value]) => !same(value, values[name])));
  const changed = groups.flatMap(({ fields }) => fields).filter(({ name }) => name in changes);
  const problems = new Map(error?.details.map(({ path, message }) => [path.replace('/configuration/', ''), message]));
  const now = { ...values, ...draft };
  const isShown = ({ name, applies }: FieldText) =>
    applies === undefined ||
    applies(now) ||
    name in changes ||
    problems.has(name) ||
    !same(values[name], schemas[name]?.default);
  const effects = [...new Set(changed.flatMap(({ effect }) => (effect ? [effect] : [])))];

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (changed.length === 0 || isPending) return;
    const saved = await mutateAsync(changes).then(
      () => true,
      () => false,
    );
    if (saved) setDraft({});
  };
  return (
    <form className={u.stack} noValidate onSubmit={(event) => void submit(event)}>
      <UnsavedGuard dirty={changed.length > 0} />
      {groups.map(({ title, fields }) => (
        <fieldset key={title} className={u.card} disabled={refusal !== null}>
          <div className={u.cardHead}>
            <h2>{title}</h2>
          </div>
          <div className={f.fields}>
            {fields.filter(isShown).map((field) => (
              <SchemaField
                key={field.name}
                field={field}
                schema={schemas[field.name] ?? {}}
                value={field.name in draft ? draft[field.name] : values[field.name]}
                changed={field.name in changes}
                error={problems.get(field.name)}
                onChange={(value) => setDraft((before) => ({ ...before, [field.name]: value }))}
              />
            ))}
          </div>
        </fieldset>
      ))}
      {children}
      <div className={`${f.bar} ${changed.length > 0 ? f.dirty : ''}`}>
        {error ? (
          <div className={f.wide}>
            <ErrorNotice title="The changes were not saved" error={error} />
          </div>
        ) : null}
        <span className={u.dim}>
          {refusal ??
            (changed.length === 0
              ? 'No unsaved changes.'
              : `Unsaved changes: ${changed.map(({ label }) => label.toLowerCase()).join(', ')}. ${effects.join(' ')}`)}
        </span>
        <div className={u.actions}>
          {changed.length > 0 ? <Button onClick={() => setDraft({})}>Discard</Button> : null}
          <Button look="primary" type="submit" refusal={refusal} pending={isPending} disabled={changed.length === 0}>
            {isPending ? 'Saving…' : 'Save'}
          </Button>
        </div>
      </div>
    </form>
  );
}

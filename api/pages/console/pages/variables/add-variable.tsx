import { useGet } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { FieldsDisabled, SelectField, TextField } from '../../ui/field.js';
import { useFields, WriteForm } from '../../ui/form.js';
import { type Content, SCOPES, type Scope } from './edits.js';
import v from './variables.module.css';

const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Keys of a database that a variable can refer to. */
const OFFERED = ['URL', 'HOST', 'PORT', 'USER', 'PASSWORD', 'DATABASE'];

const EMPTY = { key: '', value: '', from: '', scope: 'all' as Scope };

export function AddVariable({
  workspaceId,
  serviceId,
  refusal,
  known,
  onAdd,
}: {
  workspaceId: string;
  /** The service to which the variable belongs; null for a group. */
  serviceId: string | null;
  refusal: string | null;
  known: readonly string[];
  onAdd: (key: string, content: Content) => void;
}) {
  const services = useGet('/workspaces/{workspaceId}/services', { path: { workspaceId } });
  const { values, set, field } = useFields(EMPTY);
  const { key, value, from, scope } = values;
  const others = (services.data?.services ?? []).filter(({ id, archived }) => id !== serviceId && !archived);
  const wrong = key !== '' && !KEY.test(key) ? 'Letters, digits and _, not beginning with a digit' : undefined;
  const ready = key !== '' && wrong === undefined && (from === '' || value !== '') && refusal === null;
  const add = () => {
    onAdd(key, { ...(from === '' ? { value } : { reference: { serviceId: from, key: value } }), scope });
    set(EMPTY);
  };
  return (
    <WriteForm
      className={`${v.add} ${others.length > 0 ? v.withSource : ''}`}
      write={{ isPending: false, mutate: add }}
      ready={ready}
    >
      <FieldsDisabled value={refusal !== null}>
        <TextField
          label="Key"
          placeholder="DATABASE_URL"
          error={wrong}
          hint={known.includes(key) ? 'This variable exists: saving replaces its value' : undefined}
          value={key}
          onChange={(text) => set({ key: text.trim() })}
        />
        {others.length > 0 ? (
          <SelectField
            label="Source"
            options={[
              { value: '', text: 'Value' },
              ...others.map(({ id, name }) => ({ value: id, text: `From ${name}` })),
            ]}
            value={from}
            onChange={(id) => set({ from: id, value: '' })}
          />
        ) : null}
        {from === '' ? (
          <TextField label="Value" type="password" autoComplete="new-password" {...field('value')} />
        ) : (
          <TextField
            label="Variable of that service"
            hint="A database offers URL, HOST, PORT, USER, PASSWORD and DATABASE"
            list="offered"
            value={value}
            onChange={(text) => set({ value: text.trim() })}
          />
        )}
        <SelectField label="Scope" options={SCOPES} {...field('scope')} />
      </FieldsDisabled>
      <datalist id="offered">
        {OFFERED.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Button type="submit" refusal={refusal} disabled={!ready}>
        Add
      </Button>
    </WriteForm>
  );
}

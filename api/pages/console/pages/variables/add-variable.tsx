import { type FormEvent, useState } from 'react';
import { useGet } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { type Content, SCOPES, type Scope } from './edits.js';
import v from './variables.module.css';

const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Keys of a database that a variable can refer to. */
const OFFERED = ['URL', 'HOST', 'PORT', 'USER', 'PASSWORD', 'DATABASE'];

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
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const [from, setFrom] = useState('');
  const [scope, setScope] = useState<Scope>('all');
  const others = (services.data?.services ?? []).filter(({ id, archived }) => id !== serviceId && !archived);
  const wrong = key !== '' && !KEY.test(key) ? 'Letters, digits and _, not beginning with a digit' : undefined;
  const ready = key !== '' && wrong === undefined && (from === '' || value !== '') && refusal === null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    onAdd(key, { ...(from === '' ? { value } : { reference: { serviceId: from, key: value } }), scope });
    setKey('');
    setValue('');
    setFrom('');
    setScope('all');
  };
  return (
    <form className={`${v.add} ${others.length > 0 ? v.withSource : ''}`} onSubmit={submit}>
      <TextField
        label="Key"
        placeholder="DATABASE_URL"
        error={wrong}
        hint={known.includes(key) ? 'This variable exists: saving replaces its value' : undefined}
        disabled={refusal !== null}
        value={key}
        onChange={(event) => setKey(event.target.value.trim())}
      />
      {others.length > 0 ? (
        <SelectField
          label="Source"
          options={[
            { value: '', text: 'Value' },
            ...others.map(({ id, name }) => ({ value: id, text: `From ${name}` })),
          ]}
          disabled={refusal !== null}
          value={from}
          onChange={(event) => {
            setFrom(event.target.value);
            setValue('');
          }}
        />
      ) : null}
      {from === '' ? (
        <TextField
          label="Value"
          type="password"
          autoComplete="new-password"
          disabled={refusal !== null}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      ) : (
        <TextField
          label="Variable of that service"
          hint="A database offers URL, HOST, PORT, USER, PASSWORD and DATABASE"
          list="offered"
          value={value}
          onChange={(event) => setValue(event.target.value.trim())}
        />
      )}
      <SelectField
        label="Scope"
        options={SCOPES}
        disabled={refusal !== null}
        value={scope}
        onChange={(event) => setScope(event.target.value as Scope)}
      />
      <datalist id="offered">
        {OFFERED.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Button type="submit" refusal={refusal} disabled={!ready}>
        Add
      </Button>
    </form>
  );
}

import type { FieldSchema } from '../../api/field-schemas.js';
import { AreaField, CheckField, SelectField, TextField } from '../../ui/field.js';
import { optionLabel } from '../../ui/option-labels.js';
import type { FieldText } from './schema-form.js';
import f from './settings.module.css';

/** A text field is shown with several lines if its schema allows at least this many characters. */
const AREA_FROM = 5000;

export function SchemaField({
  field: { name, label, hint: text },
  schema,
  value,
  changed,
  error,
  onChange,
}: {
  field: FieldText;
  schema: FieldSchema;
  value: unknown;
  changed: boolean;
  error: string | undefined;
  onChange: (value: unknown) => void;
}) {
  // The help ends with the field's name in the API, for users who automate.
  const hint = (
    <>
      {text} <code className={f.apiName}>{name}</code>
    </>
  );
  const shared = { label, hint, error, name };
  return <div className={`${f.field} ${changed ? f.changed : ''}`}>{control()}</div>;

  function control() {
    if (schema.type === 'boolean') {
      return <CheckField label={label} hint={hint} value={value === true} onChange={onChange} />;
    }
    if (schema.enum) {
      const options = schema.enum.map((one) => ({ value: one, text: optionLabel(name, one) }));
      return <SelectField {...shared} options={options} value={String(value)} onChange={onChange} />;
    }
    if (schema.type === 'integer' || schema.type === 'number') {
      return (
        <TextField
          {...shared}
          type="number"
          min={schema.minimum}
          max={schema.maximum}
          value={String(value)}
          onChange={(text) => onChange(text === '' ? '' : Number(text))}
        />
      );
    }
    if (schema.type === 'array') {
      return (
        <AreaField
          {...shared}
          rows={2}
          value={(value as string[]).join('\n')}
          onChange={(text) => onChange(text === '' ? [] : text.split('\n'))}
        />
      );
    }
    if ((schema.maxLength ?? 0) >= AREA_FROM) {
      return <AreaField {...shared} value={String(value)} onChange={onChange} />;
    }
    return <TextField {...shared} maxLength={schema.maxLength} value={String(value)} onChange={onChange} />;
  }
}

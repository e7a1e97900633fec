import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useContext,
  useId,
} from 'react';
import s from './ui.module.css';

interface Around {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
}

type Of<Attributes, Value = string> = Around &
  Omit<Attributes, 'className' | 'id' | 'value' | 'onChange'> & { value: Value; onChange?: (value: Value) => void };

export const FieldsDisabled = createContext(false);

/** Attributes that connect a control with its label, help and error for screen readers. */
interface Ties {
  id: string;
  className: string | undefined;
  disabled: boolean;
  'aria-invalid': true | undefined;
  'aria-describedby': string | undefined;
}

function Field({ label, hint, error, children }: Around & { children: (ties: Ties) => ReactNode }) {
  const id = useId();
  const disabled = useContext(FieldsDisabled);
  const described = [hint === undefined ? '' : `${id}-hint`, error ? `${id}-error` : ''].filter((part) => part !== '');
  return (
    <div className={s.field}>
      <label className={s.label} htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        className: s.input,
        disabled,
        'aria-invalid': error ? true : undefined,
        'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
      })}
      <Hint id={id}>{hint}</Hint>
      {error ? (
        <div className={s.fieldError} id={`${id}-error`}>
          {error}
        </div>
      ) : null}
    </div>
  );
}

function Hint({ id, children }: { id: string; children: ReactNode }) {
  if (children === undefined) return null;
  return (
    <div className={s.hint} id={`${id}-hint`}>
      {children}
    </div>
  );
}

export function TextField({ label, hint, error, onChange, ...input }: Of<InputHTMLAttributes<HTMLInputElement>>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ties) => (
        <input
          autoComplete="off"
          spellCheck={false}
          {...ties}
          {...input}
          onChange={(event) => onChange?.(event.target.value)}
        />
      )}
    </Field>
  );
}

export function AreaField({ label, hint, error, onChange, ...input }: Of<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ties) => (
        <textarea
          autoComplete="off"
          spellCheck={false}
          rows={4}
          {...ties}
          {...input}
          onChange={(event) => onChange?.(event.target.value)}
        />
      )}
    </Field>
  );
}

export function SelectField<Value extends string>({
  label,
  hint,
  error,
  options,
  onChange,
  ...input
}: Of<SelectHTMLAttributes<HTMLSelectElement>, Value> & { options: readonly { value: Value; text: string }[] }) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ties) => (
        <select {...ties} {...input} onChange={(event) => onChange?.(event.target.value as Value)}>
          {options.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField({
  label,
  hint,
  value,
  onChange,
}: Pick<Around, 'label' | 'hint'> & { value: boolean; onChange: (value: boolean) => void }) {
  const id = useId();
  const disabled = useContext(FieldsDisabled);
  return (
    <div className={s.check}>
      <input
        type="checkbox"
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        disabled={disabled}
        checked={value}
        onChange={(event) => onChange(event.target.checked)}
      />
      <div>
        <label className={s.label} htmlFor={id}>
          {label}
        </label>
        <Hint id={id}>{hint}</Hint>
      </div>
    </div>
  );
}

export function ChoicesField<Value extends string>({
  label,
  texts,
  value,
  onChange,
}: {
  label: string;
  texts: Readonly<Record<Value, string>>;
  value: readonly Value[];
  onChange: (value: Value[]) => void;
}) {
  return (
    <fieldset className={s.choices}>
      <legend className={s.label}>{label}</legend>
      {(Object.keys(texts) as Value[]).map((choice) => (
        <CheckField
          key={choice}
          label={texts[choice]}
          value={value.includes(choice)}
          onChange={(chosen) => onChange(chosen ? [...value, choice] : value.filter((one) => one !== choice))}
        />
      ))}
    </fieldset>
  );
}

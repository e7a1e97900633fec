import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import s from './ui.module.css';

interface Around {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
}

/** Returns ids that connect a control with its label, help and error for screen readers. */
function useTies({ hint, error }: Around) {
  const id = useId();
  const described = [hint === undefined ? '' : `${id}-hint`, error ? `${id}-error` : ''].filter((part) => part !== '');
  return {
    id,
    props: {
      id,
      className: s.input,
      'aria-invalid': error ? (true as const) : undefined,
      'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
    },
  };
}

function Field({ id, label, hint, error, children }: Around & { id: string; children: ReactNode }) {
  return (
    <div className={s.field}>
      <label className={s.label} htmlFor={id}>
        {label}
      </label>
      {children}
      {hint === undefined ? null : (
        <div className={s.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {error ? (
        <div className={s.fieldError} id={`${id}-error`}>
          {error}
        </div>
      ) : null}
    </div>
  );
}

type Of<T> = Around & Omit<T, 'className' | 'id'>;

export function TextField({ label, hint, error, ...input }: Of<InputHTMLAttributes<HTMLInputElement>>) {
  const { id, props } = useTies({ label, hint, error });
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <input autoComplete="off" spellCheck={false} {...input} {...props} />
    </Field>
  );
}

export function AreaField({ label, hint, error, ...input }: Of<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  const { id, props } = useTies({ label, hint, error });
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <textarea autoComplete="off" spellCheck={false} rows={4} {...input} {...props} />
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  error,
  options,
  ...input
}: Of<SelectHTMLAttributes<HTMLSelectElement>> & { options: readonly { value: string; text: string }[] }) {
  const { id, props } = useTies({ label, hint, error });
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <select {...input} {...props}>
        {options.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

export function CheckField({ label, hint, ...input }: Of<InputHTMLAttributes<HTMLInputElement>>) {
  const id = useId();
  return (
    <div className={s.check}>
      <input type="checkbox" id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} {...input} />
      <div>
        <label className={s.label} htmlFor={id}>
          {label}
        </label>
        {hint === undefined ? null : (
          <div className={s.hint} id={`${id}-hint`}>
            {hint}
          </div>
        )}
      </div>
    </div>
  );
}

import { type ReactNode, useState } from 'react';
import type { ApiError } from '../api/api-client.js';
import { Button } from './button.js';
import { FieldsDisabled } from './field.js';
import { ErrorNotice } from './states.js';

/** What a form needs of the mutation that it starts. */
export interface FormWrite {
  isPending: boolean;
  error: ApiError | null;
  mutate: () => void;
}

/** A form that starts a mutation when it is submitted, unless it is incomplete or the mutation is running. */
export function WriteForm({
  write: { isPending, mutate },
  ready,
  className,
  children,
}: {
  write: Pick<FormWrite, 'isPending' | 'mutate'>;
  ready: boolean;
  className?: string | undefined;
  children: ReactNode;
}) {
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !isPending) mutate();
      }}
    >
      {children}
    </form>
  );
}

/** A form that adds something: its fields, a button, and why the API refused. With `refusal`, all are disabled. */
export function AddForm({
  write,
  ready,
  refusal = null,
  className,
  action,
  failure,
  children,
}: {
  write: FormWrite;
  ready: boolean;
  refusal?: string | null;
  className: string | undefined;
  /** Text of the button. */
  action: string;
  /** Title of the notice that shows why the write failed. */
  failure: string;
  children: ReactNode;
}) {
  return (
    <WriteForm className={className} write={write} ready={ready}>
      <FieldsDisabled value={refusal !== null}>{children}</FieldsDisabled>
      <Button type="submit" refusal={refusal} pending={write.isPending} disabled={!ready}>
        {action}
      </Button>
      {write.error ? <ErrorNotice title={failure} error={write.error} /> : null}
    </WriteForm>
  );
}

/** Keeps the values of a form. `field` connects one value with its control; `set` changes several values. */
export function useFields<Values extends object>(initial: Values) {
  const [values, setValues] = useState(initial);
  const set = (changes: Partial<Values>) => setValues((before) => ({ ...before, ...changes }));
  const field = <Name extends keyof Values>(name: Name) => ({
    value: values[name],
    onChange: (value: Values[Name]) => setValues((before) => ({ ...before, [name]: value })),
  });
  return { values, set, field };
}

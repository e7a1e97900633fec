import { type ReactNode, useState } from 'react';
import type { ApiError } from '../api/api-client.js';
import { Button } from './button.js';
import { FieldsDisabled } from './field.js';
import { ErrorNotice } from './states.js';

export interface FormWrite {
  isPending: boolean;
  error: ApiError | null;
  mutate: () => void;
}

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
  action: string;
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

import type { ReactNode } from 'react';

/** A form that starts a mutation when it is submitted, unless it is incomplete or the mutation is running. */
export function WriteForm({
  write: { isPending, mutate },
  ready,
  className,
  children,
}: {
  write: { isPending: boolean; mutate: () => void };
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

import type { ReactNode } from 'react';

/** A form whose submission begins a write, once what it needs is there and unless it is under way. */
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

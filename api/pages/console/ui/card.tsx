import type { UseQueryResult } from '@tanstack/react-query';
import { Fragment, type ReactNode } from 'react';
import type { ApiError } from '../api/api-client.js';
import r from './card.module.css';
import { Loaded } from './states.js';
import s from './ui.module.css';

export function Card({
  title,
  actions,
  label,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  /** Name for screen readers. */
  label?: string;
  children: ReactNode;
}) {
  return (
    <section className={s.card} aria-label={label}>
      {title === undefined ? null : (
        <div className={s.cardHead}>
          <h2>{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

export function Items<Item extends { id: string }>({
  items,
  empty,
  children,
}: {
  items: readonly Item[];
  empty?: ReactNode;
  children: (item: Item) => ReactNode;
}) {
  if (items.length === 0 && empty !== undefined) return empty;
  return (
    <ul>
      {items.map((item) => (
        <Fragment key={item.id}>{children(item)}</Fragment>
      ))}
    </ul>
  );
}

export function ListCard<Data, Item extends { id: string }>({
  title,
  query,
  skeleton,
  items,
  empty,
  add,
  children,
}: {
  title?: string;
  query: Pick<UseQueryResult<Data, ApiError>, 'data' | 'error' | 'refetch'>;
  skeleton: ReactNode;
  items: (data: Data) => readonly Item[];
  empty?: ReactNode;
  add?: ReactNode;
  children: (item: Item) => ReactNode;
}) {
  return (
    <Loaded query={query} skeleton={skeleton}>
      {(data) => (
        <Card title={title}>
          <Items items={items(data)} empty={empty}>
            {children}
          </Items>
          {add}
        </Card>
      )}
    </Loaded>
  );
}

export function Row({
  title,
  detail,
  aside = <span />,
  children,
}: {
  title: ReactNode;
  detail?: ReactNode;
  aside?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <li className={r.row}>
      <div className={r.what}>
        {typeof title === 'string' ? <strong>{title}</strong> : title}
        {detail === undefined ? null : <span className={s.dim}>{detail}</span>}
      </div>
      {aside}
      {children}
    </li>
  );
}

export function Table({
  columns,
  children,
}: {
  columns: readonly (string | { text: string; className: string | undefined })[];
  children: ReactNode;
}) {
  return (
    <div className={s.tableWrap}>
      <table className={s.table}>
        <thead>
          <tr>
            {columns.map((column) => {
              const { text, className } = typeof column === 'string' ? { text: column, className: undefined } : column;
              return (
                <th key={text} scope="col" className={className}>
                  {text}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

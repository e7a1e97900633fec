import type { ReactNode } from 'react';
import { Button } from './button.js';
import h from './history.module.css';
import { Status } from './status.js';
import { Ago, Duration } from './time.js';
import type { Tone } from './tone.js';
import s from './ui.module.css';

const MAX_LIMIT = 200;
export const FIRST_ROWS = 30;

function moreThan(limit: number): number {
  return Math.min(MAX_LIMIT, limit + 2 * FIRST_ROWS);
}

export function HistoryRow({
  status: { tone, text },
  title,
  detail,
  at,
  startedAt = null,
  finishedAt = null,
  children,
}: {
  status: { tone: Tone; text: string };
  title: ReactNode;
  detail?: ReactNode;
  at?: string;
  startedAt?: string | null;
  finishedAt?: string | null;
  children?: ReactNode;
}) {
  return (
    <li className={h.row}>
      <Status tone={tone}>{text}</Status>
      <div className={h.what}>
        <span className={s.ellipsis}>{title}</span>
        {detail === undefined ? null : <span className={`${s.dim} ${h.detail}`}>{detail}</span>}
      </div>
      <div className={`${h.when} ${s.dim}`}>
        {at === undefined ? null : <Ago at={at} />}
        {startedAt === null ? null : (
          <span>
            {finishedAt === null ? 'running for ' : ''}
            <Duration from={startedAt} to={finishedAt} />
          </span>
        )}
      </div>
      <div className={`${s.actions} ${h.actions}`}>{children}</div>
    </li>
  );
}

export function ShowOlder({
  hasMore,
  limit,
  onLimit,
}: {
  hasMore: boolean;
  limit: number;
  onLimit: (limit: number) => void;
}) {
  if (!hasMore) return null;
  if (limit >= MAX_LIMIT) return <p className={s.dim}>These are the newest {MAX_LIMIT}.</p>;
  return <Button onClick={() => onLimit(moreThan(limit))}>Show older</Button>;
}

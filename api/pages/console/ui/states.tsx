import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiError } from '../api/api-client.js';
import { Button } from './button.js';
import n from './states.module.css';
import { Glyph } from './status.js';
import type { Tone } from './tone.js';
import s from './ui.module.css';

/** A placeholder of the same height as the content, so that the page does not jump. */
export function Skeleton({ rows = 1, height = 44 }: { rows?: number; height?: number }) {
  return (
    <div className={s.stack} role="status">
      <span className={s.visuallyHidden}>Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className={s.skeleton} style={{ height }} />
      ))}
    </div>
  );
}

export function Notice({ tone, title, children }: { tone: Tone; title?: string; children?: ReactNode }) {
  const look = tone === 'bad' ? n.noticeBad : tone === 'warn' ? n.noticeWarn : tone === 'good' ? n.noticeGood : '';
  return (
    <div className={`${n.notice} ${look}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Glyph tone={tone} className={n.noticeIcon} />
      <div className={s.stack} style={{ gap: 4 }}>
        {title === undefined ? null : <strong>{title}</strong>}
        {children}
      </div>
    </div>
  );
}

export function ErrorNotice({
  error,
  title,
  retry,
}: {
  error: ApiError | Error;
  title?: string;
  retry?: (() => unknown) | undefined;
}) {
  const { requestId = '', details = [] } = error as Partial<ApiError>;
  return (
    <Notice tone="bad" title={title ?? error.message}>
      {title === undefined ? null : <p>{error.message}</p>}
      {details.map(({ path, message }) => (
        <p key={path}>
          <code>{path}</code> {message}
        </p>
      ))}
      {requestId === '' ? null : (
        <p className={s.hint}>
          Request <code>{requestId}</code>
        </p>
      )}
      {retry ? (
        <div>
          <Button small onClick={() => retry()}>
            Try again
          </Button>
        </div>
      ) : null}
    </Notice>
  );
}

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className={n.empty}>
      <h2>{title}</h2>
      {children === undefined ? null : <p>{children}</p>}
      {action}
    </div>
  );
}

/** If a later poll fails, the old data stays, unless the resource is gone or access to it was lost. */
export function Loaded<T>({
  query,
  skeleton = <Skeleton rows={4} />,
  children,
}: {
  query: Pick<UseQueryResult<T, ApiError>, 'data' | 'error' | 'refetch'>;
  skeleton?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { data, error, refetch } = query;
  if (data !== undefined) {
    const gone = error && (error.status === 404 || error.status === 403);
    return gone ? <ErrorNotice error={error} retry={refetch} /> : children(data);
  }
  if (error) {
    if (error.status === 404) {
      return <Empty title="Not found">It was deleted, or it belongs to another workspace.</Empty>;
    }
    return <ErrorNotice error={error} retry={refetch} />;
  }
  return skeleton;
}

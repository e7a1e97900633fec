import type { ReactNode } from 'react';
import { CopyButton } from '../../ui/copy.js';
import { Ago, Last } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import e from './endpoints.module.css';

export function EndpointRow({
  endpoint: { url, createdAt, lastDeliveryAt, lastOutcome },
  title,
  more = null,
  children,
}: {
  endpoint: { url: string; createdAt: string; lastDeliveryAt: string | null; lastOutcome: string };
  title: string;
  more?: ReactNode;
  children: ReactNode;
}) {
  return (
    <li className={e.endpoint}>
      <div className={e.head}>
        <strong>{title}</strong>
        <div className={u.actions}>{children}</div>
      </div>
      <div className={e.address}>
        <code>{url}</code>
        <CopyButton text={url} what={`the address of ${title}`} />
      </div>
      <span className={u.dim}>
        created <Ago at={createdAt} />, <Last at={lastDeliveryAt} words="last delivery" never="no deliveries yet" />
        {lastDeliveryAt === null || lastOutcome === '' ? '' : `: ${lastOutcome}`}
      </span>
      {more}
    </li>
  );
}

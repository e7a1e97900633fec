import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { Button } from '../../ui/button.js';
import { Empty, ErrorNotice, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { useServicePath } from '../services/service-shell.js';
import { LogRow } from './log-row.js';
import l from './logs.module.css';
import { type LogFilter, useLog } from './use-log.js';

const ROW = 20;
/** If the view is scrolled to at most this many pixels from the end, it follows new lines. */
const AT_END = 24;

/** Follows new lines until the reader scrolls up. Only the visible rows are in the DOM. */
export function LogView({
  filter,
  working,
  title,
  controls,
  tall = false,
}: {
  filter: LogFilter;
  /** True while more lines are expected. */
  working: boolean;
  title: string;
  controls?: ReactNode;
  tall?: boolean;
}) {
  const log = useLog(useServicePath(), filter, working);
  const lines = log.lines ?? [];
  const pane = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const [seen, setSeen] = useState(0);
  const firstId = lines[0]?.id;
  const before = useRef({ firstId, count: lines.length });

  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => pane.current,
    estimateSize: () => ROW,
    overscan: 30,
  });

  useLayoutEffect(() => {
    const element = pane.current;
    if (!element) return;
    const { firstId: formerFirst, count } = before.current;
    before.current = { firstId, count: lines.length };
    if (following) element.scrollTop = element.scrollHeight;
    // Older lines were inserted above: scroll by their height, so that visible lines do not move.
    else if (formerFirst !== firstId && count > 0) {
      element.scrollTop += (lines.length - count) * ROW;
      setSeen((number) => number + lines.length - count);
    }
  }, [lines.length, firstId, following]);

  const onScroll = () => {
    const element = pane.current;
    if (!element) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < AT_END;
    if (atEnd === following) return;
    setFollowing(atEnd);
    setSeen(lines.length);
  };
  const unseen = following ? 0 : Math.max(0, lines.length - seen);
  return (
    <section className={`${u.card} ${l.log}`} aria-label={title}>
      <div className={u.cardHead}>
        <h2>{title}</h2>
        <div className={u.actions}>
          {controls}
          {log.hasOlder ? (
            <Button small pending={log.loadingOlder} onClick={() => void log.older()}>
              Load older lines
            </Button>
          ) : null}
        </div>
      </div>
      {log.error && log.error.status !== 0 ? <ErrorNotice error={log.error} retry={log.retry} /> : null}
      {log.lines === null ? (
        <div className={u.cardBody}>
          <Skeleton rows={1} height={tall ? 460 : 320} />
        </div>
      ) : lines.length === 0 ? (
        <div className={`${l.pane} ${tall ? l.tall : ''}`}>
          <Empty title={filter.search ? 'No matching lines' : working ? 'No output yet' : 'No log lines'}>
            {filter.search ? undefined : 'The output of builds and of your application appears here.'}
          </Empty>
        </div>
      ) : (
        <div className={l.frame}>
          <div
            className={`${l.pane} ${tall ? l.tall : ''}`}
            ref={pane}
            onScroll={onScroll}
            role="log"
            aria-live="off"
            aria-label={`Lines of ${title}`}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
            tabIndex={0}
          >
            <div className={l.lines} style={{ height: rows.getTotalSize() }}>
              {rows.getVirtualItems().map(({ index, start }) => {
                const line = lines[index];
                return line ? <LogRow key={line.id} line={line} top={start} /> : null;
              })}
            </div>
          </div>
          {following ? null : (
            <div className={l.back}>
              <Button small look="primary" onClick={() => setFollowing(true)}>
                {unseen === 0 ? 'Follow' : `${unseen} new ${unseen === 1 ? 'line' : 'lines'}`}
              </Button>
            </div>
          )}
        </div>
      )}
    </section>
  );
}

import { memo } from 'react';
import type { LogLine } from '../../api/types.js';
import { colouredHtml } from './coloured-html.js';
import l from './logs.module.css';

const ESCAPE = '\u001b';
const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

export const LogRow = memo(function LogRow({ line, top }: { line: LogLine; top: number }) {
  const { level, message, source, timestamp } = line;
  return (
    <div className={`${l.row} ${l[level] ?? ''}`} style={{ transform: `translateY(${top}px)` }}>
      <time className={l.time} dateTime={timestamp} title={timestamp}>
        {TIME.format(new Date(timestamp))}
      </time>
      <span className={l.source}>{source}</span>
      {message.includes(ESCAPE) ? <Coloured text={message} /> : <span className={l.text}>{message}</span>}
    </div>
  );
});

function Coloured({ text }: { text: string }) {
  return <span className={l.text} dangerouslySetInnerHTML={{ __html: colouredHtml(text) }} />;
}

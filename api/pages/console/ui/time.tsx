import { useEffect, useState } from 'react';
import { agoText, durationText } from './duration-text.js';

/** Returns the current time. Re-renders the component every `everyMs` milliseconds, or never if that is null. */
export function useNow(everyMs: number | null): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (everyMs === null) return;
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

const ABSOLUTE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

export function Ago({ at }: { at: string }) {
  const now = useNow(20_000);
  const time = new Date(at).getTime();
  return (
    <time dateTime={at} title={ABSOLUTE.format(time)}>
      {agoText((time - now) / 1000)}
    </time>
  );
}

export function Last({ at, words, never }: { at: string | null; words: string; never: string }) {
  if (at === null) return never;
  return (
    <>
      {words} <Ago at={at} />
    </>
  );
}

export function Duration({ from, to }: { from: string; to: string | null }) {
  const now = useNow(to === null ? 500 : null);
  return <span>{durationText((to === null ? now : Date.parse(to)) - Date.parse(from))}</span>;
}

export function Took({ startedAt, finishedAt }: { startedAt: string | null; finishedAt: string | null }) {
  if (startedAt === null) return null;
  return (
    <span>
      {finishedAt === null ? 'running for' : 'took'} <Duration from={startedAt} to={finishedAt} />
    </span>
  );
}

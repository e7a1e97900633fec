import { useCallback, useEffect, useRef, useState } from 'react';
import { type ApiError, get } from '../../api/api-client.js';
import { pollDelay } from '../../api/api-silence.js';
import type { LogLine } from '../../api/types.js';

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/logs';
const WORKING_MS = 1000;
const FOLLOWING_MS = 3000;
const BATCH = 500;
/** How far back the log is requested: one year, in hours. The API returns only the lines that the plan retains. */
const EVER_HOURS = 24 * 365;

export interface LogFilter {
  deploymentId?: string;
  runId?: string;
  source?: LogLine['source'];
  search?: string;
}

export interface Log {
  /** Null before the first answer. */
  lines: readonly LogLine[] | null;
  error: ApiError | null;
  hasOlder: boolean;
  loadingOlder: boolean;
  older: () => Promise<void>;
  retry: () => void;
}

/** Reads a log and polls for new lines. The cursor survives outages, so that no line is lost or shown twice. */
export function useLog(path: { workspaceId: string; serviceId: string }, filter: LogFilter, working: boolean): Log {
  const { workspaceId, serviceId } = path;
  const { deploymentId, runId, source, search } = filter;
  const [lines, setLines] = useState<readonly LogLine[] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [hasOlder, setHasOlder] = useState(false);
  const [loadingOlder, setLoadingOlder] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const pace = useRef(FOLLOWING_MS);
  pace.current = working ? WORKING_MS : FOLLOWING_MS;

  const read = useCallback(
    (query: { after?: number; before?: number }, signal?: AbortSignal) =>
      get(PATH, {
        path: { workspaceId, serviceId },
        query: { limit: BATCH, hours: EVER_HOURS, deploymentId, runId, source, search, ...query },
        signal,
      }),
    [workspaceId, serviceId, deploymentId, runId, source, search],
  );

  useEffect(() => {
    const ending = new AbortController();
    let cursor: number | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    setLines(null);
    setError(null);

    async function step(): Promise<void> {
      clearTimeout(timer);
      let delay = pace.current;
      try {
        const answer = await read(cursor === null ? {} : { after: cursor }, ending.signal);
        if (ending.signal.aborted) return;
        if (cursor === null) setHasOlder(answer.items.length === BATCH);
        cursor = answer.cursor;
        if (answer.hasMore && answer.items.length > 0) delay = 0;
        setLines((before) => (before && answer.items.length === 0 ? before : [...(before ?? []), ...answer.items]));
        setError(null);
      } catch (failure) {
        if (ending.signal.aborted) return;
        setError(failure as ApiError);
        delay = 2 * WORKING_MS;
      }
      if (!document.hidden) timer = setTimeout(step, delay === 0 ? 0 : pollDelay(delay));
    }
    const onShown = () => {
      if (!document.hidden) void step();
    };
    void step();
    document.addEventListener('visibilitychange', onShown);
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onShown);
    };
  }, [read, attempt]);

  const first = lines?.[0]?.id;
  const older = useCallback(async () => {
    if (first === undefined) return;
    setLoadingOlder(true);
    try {
      const answer = await read({ before: first });
      setHasOlder(answer.items.length === BATCH);
      setLines((now) => [...answer.items, ...(now ?? [])]);
    } catch (failure) {
      setError(failure as ApiError);
    } finally {
      setLoadingOlder(false);
    }
  }, [read, first]);

  return { lines, error, hasOlder, loadingOlder, older, retry: () => setAttempt((count) => count + 1) };
}

import { useCallback, useEffect, useRef, useState } from 'react';
import { type ApiError, post } from '../../api/api-client.js';
import type { Detection } from '../../api/types.js';

/** Detection starts this long after the last key press, in milliseconds. */
const REST_MS = 500;

export interface Asked {
  repository: string;
  branch: string;
  rootDirectory: string;
}

export function useDetection(workspaceId: string, { repository, branch, rootDirectory }: Asked) {
  const [detection, setDetection] = useState<Detection | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [detecting, setDetecting] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const last = useRef(0);

  useEffect(() => {
    const number = ++last.current;
    setDetection(null);
    setError(null);
    setDetecting(false);
    if (!isAddress(repository)) return;
    const timer = setTimeout(async () => {
      setDetecting(true);
      try {
        const body = { repository, branch, rootDirectory: rootDirectory || undefined };
        const answer = await post('/workspaces/{workspaceId}/detect', { path: { workspaceId }, body });
        if (number === last.current) setDetection(answer.detection);
      } catch (failure) {
        if (number === last.current) setError(failure as ApiError);
      }
      if (number === last.current) setDetecting(false);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [workspaceId, repository, branch, rootDirectory, attempt]);

  const retry = useCallback(() => setAttempt((count) => count + 1), []);
  return { detection, error, detecting, retry };
}

/** Returns true if the text looks like a complete URL. The API reports all other problems. */
function isAddress(text: string): boolean {
  return /^(https?|ssh|git|file):\/\/[^\s]+\/[^\s]+$/i.test(text) || /^[\w.-]+@[\w.-]+:[^\s]+$/.test(text);
}

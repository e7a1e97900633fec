import {
  keepPreviousData,
  QueryClient,
  type QueryKey,
  type UseQueryResult,
  useMutation,
  useQuery,
} from '@tanstack/react-query';
import { ApiError, get } from './api-client.js';
import { pollDelay } from './api-silence.js';
import type { Answer, OperationOf, PathOf, PathsWith, QueryOf } from './types.js';

const WORKING_MS = 1000;
const IDLE_MS = 15_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // By default, no request is sent while the browser is offline, but the API may be on the same machine.
      networkMode: 'always',
      staleTime: 500,
      gcTime: 5 * 60_000,
      retry: (count, error) => count < 2 && error instanceof ApiError && error.status >= 500,
      retryDelay: () => pollDelay(1000),
    },
    // Responses to writes are not cached, because some contain a secret.
    mutations: { networkMode: 'always', retry: false, gcTime: 0 },
  },
});

type Read<P extends PathsWith<'get'>> = OperationOf<P, 'get'>;

interface Options<T> {
  /** Returns true while work is in progress. The page then polls each second, otherwise every 15 seconds. */
  working?: (data: T) => boolean;
  enabled?: boolean;
  /** False if the resource changes only by the user's own writes. */
  poll?: boolean;
  /** If true, the data of the previous parameters is shown until the new data arrives. */
  keep?: boolean;
}

export function keyOf(path: string, values: object = {}, query: object = {}): QueryKey {
  return [path, values, query];
}

/** Reads a resource, and polls it while the page is visible. */
export function useGet<P extends PathsWith<'get'>>(
  path: P,
  input: { path?: PathOf<Read<P>>; query?: QueryOf<Read<P>> },
  { working = () => false, enabled = true, poll = true, keep = false }: Options<Answer<Read<P>>> = {},
): UseQueryResult<Answer<Read<P>>, ApiError> {
  return useQuery<Answer<Read<P>>, ApiError>({
    queryKey: keyOf(path, input.path as object, input.query as object),
    queryFn: ({ signal }) => get(path, { ...input, signal } as unknown as Parameters<typeof get<P>>[1]),
    enabled,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    refetchOnWindowFocus: poll,
    refetchInterval: ({ state }) => {
      if (!poll) return false;
      // An unreachable API (status 0) is polled every 2 seconds, to notice the end of an outage early.
      if (state.error) return pollDelay(state.error.status === 0 ? 2 * WORKING_MS : IDLE_MS);
      return pollDelay(state.data !== undefined && working(state.data) ? WORKING_MS : IDLE_MS);
    },
  });
}

/** Returns a mutation that afterwards reads all resources of the page again, and calls `onDone` if it succeeded. */
export function useWrite<Input = void, T = unknown>(
  write: (input: Input) => Promise<T>,
  onDone?: (answer: T, input: Input) => unknown,
) {
  return useMutation<T, ApiError, Input>({
    mutationFn: write,
    onSuccess: async (answer, input) => {
      void queryClient.invalidateQueries();
      await onDone?.(answer, input);
    },
    // A write that failed may still have changed something, so the page reads its resources again.
    onError: () => void queryClient.invalidateQueries(),
  });
}

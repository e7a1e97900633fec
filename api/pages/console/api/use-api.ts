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
      // The API is often on this machine, which may have no network.
      networkMode: 'always',
      staleTime: 500,
      gcTime: 5 * 60_000,
      retry: (count, error) => count < 2 && error instanceof ApiError && error.status >= 500,
      retryDelay: () => pollDelay(1000),
    },
    // Answers are not kept, because they may contain a secret that is shown once.
    mutations: { networkMode: 'always', retry: false, gcTime: 0 },
  },
});

type Read<P extends PathsWith<'get'>> = OperationOf<P, 'get'>;

interface Options<T> {
  /**
   * True while work is in progress. Then the page polls each second, otherwise every 15 seconds, and never while it is
   * hidden.
   */
  working?: (data: T) => boolean;
  enabled?: boolean;
  /** False if the resource never changes by itself. */
  poll?: boolean;
  /** Shows the data of other parameters until the new data arrives. */
  keep?: boolean;
}

/** Returns the key of a read, for `refresh`. */
export function keyOf(path: string, values: object = {}, query: object = {}): QueryKey {
  return [path, values, query];
}

/** Reads a resource, and keeps the data current while the page is visible. */
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
      // A missing or forbidden resource will not appear by polling each second.
      if (state.error) return pollDelay(state.error.status === 0 ? 2 * WORKING_MS : IDLE_MS);
      return pollDelay(state.data !== undefined && working(state.data) ? WORKING_MS : IDLE_MS);
    },
  });
}

/** Asks again for everything below these paths. */
function refresh(...paths: string[]): Promise<unknown> {
  return queryClient.invalidateQueries({
    predicate: ({ queryKey }) => paths.length === 0 || paths.some((path) => String(queryKey[0]).startsWith(path)),
  });
}

/** Returns a mutation, and the queries that are refetched after it. */
export function useWrite<Input = void, T = unknown>(
  write: (input: Input) => Promise<T>,
  { onDone }: { onDone?: (answer: T, input: Input) => unknown } = {},
) {
  return useMutation<T, ApiError, Input>({
    mutationFn: write,
    onSuccess: async (answer, input) => {
      void refresh();
      await onDone?.(answer, input);
    },
    // A failed write may still have changed something.
    onError: () => void refresh(),
  });
}

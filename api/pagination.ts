import { COMPLETE, type Page, type PageRequest } from '../shared/db/page.js';
import type { Caller } from './context.js';
import type { ReadRequest } from './route.js';
import type { PageQuery } from './schema.js';

export const DEFAULT_LIMIT = 100;

/** `page` of a list response (specification, Page metadata). */
export interface PageView {
  limit: number;
  hasMore: boolean;
  nextCursor: string | null;
}

/** A cursor is good for one caller: a key, or a person, whose next session may go on with it. */
function cursorOwner({ kind, userId, credentialId }: Caller): string {
  return kind === 'session' ? userId : credentialId;
}

type Paged = Pick<ReadRequest<string, PageQuery>, 'deps' | 'caller' | 'path' | 'query'>;

/** True where the caller asked for pages; without either a collection may be complete (specification, Pagination). */
export function asksForPage({ limit, cursor }: PageQuery): boolean {
  return limit !== undefined || cursor !== undefined;
}

/** The page a request asks for. Throws invalid_cursor. */
export function pageRequest({ deps, caller, path, query }: Paged): PageRequest {
  const { limit = DEFAULT_LIMIT, cursor, ...filters } = query;
  const binding = { caller: cursorOwner(caller), path, filters };
  return { limit, after: cursor === undefined ? null : deps.cursors.decode(cursor, binding) };
}

/** The page a request asks for, or the complete collection where it asks for none. */
export function pageRequestOrComplete(request: Paged): PageRequest {
  return asksForPage(request.query) ? pageRequest(request) : COMPLETE;
}

/** The metadata of a page; the cursor is good for this caller, path and these filters only. */
export function presentPage(
  { deps, caller, path, query }: Paged,
  { items, hasMore }: Page<{ id: string; created_at: Date }>,
): PageView {
  const { limit, cursor: _, ...filters } = query;
  const last = items.at(-1);
  const binding = { caller: cursorOwner(caller), path, filters };
  const position = last && { createdAt: last.created_at, id: last.id };
  return {
    limit: limit ?? Math.max(DEFAULT_LIMIT, items.length),
    hasMore,
    nextCursor: hasMore && position ? deps.cursors.encode(position, binding) : null,
  };
}

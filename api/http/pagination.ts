import { COMPLETE, type Page, type PageRequest } from '../../shared/core/database/page.js';
import type { Caller } from './api-deps.js';
import type { ReadRequest } from './route.js';
import type { PageQuery } from './schema.js';

const DEFAULT_LIMIT = 100;

/** The field `page` of a list response (specification, Page metadata). */
export interface PageView {
  limit: number;
  hasMore: boolean;
  nextCursor: string | null;
}

/** A cursor remains valid in a user's next session, but not with another key. */
function cursorOwner({ kind, userId, credentialId }: Caller): string {
  return kind === 'session' ? userId : credentialId;
}

type Paged = Pick<ReadRequest<string, PageQuery>, 'deps' | 'caller' | 'path' | 'query'>;

/** Returns true if the query asks for a page. Otherwise, the response may contain the complete collection. */
export function asksForPage({ limit, cursor }: PageQuery): boolean {
  return limit !== undefined || cursor !== undefined;
}

/** Returns the page that a query requests. Throws invalid_cursor if the cursor is not valid for the request. */
export function pageRequest({ deps, caller, path, query }: Paged): PageRequest {
  const { limit = DEFAULT_LIMIT, cursor, ...filters } = query;
  const binding = { caller: cursorOwner(caller), path, filters };
  return { limit, after: cursor === undefined ? null : deps.cursors.decode(cursor, binding) };
}

/**
 * Returns the page that a query requests, or the complete collection if it requests no page. Throws the errors of
 * `pageRequest`.
 */
export function pageRequestOrComplete(request: Paged): PageRequest {
  return asksForPage(request.query) ? pageRequest(request) : COMPLETE;
}

/** Presents a page's metadata. Its cursor is valid only for the same caller, path and filters. */
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

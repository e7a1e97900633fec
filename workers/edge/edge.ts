import type { EdgeFigures } from '../../shared/routing/store.js';
import type { RouteTable } from './table.js';

export type { EdgeFigures };

/** What stands before the hosted services: it answers for the hosts of a table. */
export interface Edge {
  /** What the edge counts about itself, for the operator. */
  readonly figures: EdgeFigures;
  /** Begins to take requests. */
  listen(): Promise<void>;
  /**
   * Serves this table from now on. Calls may overlap; the latest table wins. Resolves when every new request goes by
   * this table (or a later one) and the requests that were under way to replicas it leaves out have ended. Those that
   * last (event streams, upgraded connections, anything beyond the edge's bound) are not waited for, and go on.
   */
  apply(table: RouteTable): Promise<void>;
  /** Takes no more requests and returns when those under way have ended, within a bound. */
  close(): Promise<void>;
}

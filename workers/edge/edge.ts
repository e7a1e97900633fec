import type { EdgeFigures } from '../../shared/routing/store.js';
import type { RouteTable } from './route-table.js';

export type { EdgeFigures };

/** Answers visitors' requests for the hosts of a route table. */
export interface Edge {
  /** What the edge counts about itself, for the operator. */
  readonly figures: EdgeFigures;
  /** Starts to accept requests. */
  listen(): Promise<void>;
  /**
   * Serves this table from now on. Calls may overlap; the latest table wins. Resolves when every new request uses
   * this table or a later one, and the requests in progress to replicas that it leaves out have ended. Event streams,
   * upgraded connections, and requests that take longer than the edge's limit are not waited for; they go on.
   */
  apply(table: RouteTable): Promise<void>;
  /** Accepts no more requests. Resolves when those in progress have ended, within a time limit. */
  close(): Promise<void>;
}

import type { EdgeFigures } from '../../shared/routing/store.js';
import type { RouteTable } from './route-table.js';

/** Serves visitors' requests for the hosts of a route table. */
export interface Edge {
  readonly figures: EdgeFigures;
  listen(): Promise<void>;
  /**
   * Serves this table from now on. `changed` names the hosts whose routes may differ from the table before; if absent,
   * all are compared. Calls may overlap; the latest table wins. Resolves when every new request uses this
   * table or a later one, and requests in progress to replicas that are not in the table have ended. Does not wait for
   * event streams, upgraded connections and requests that exceed the edge's time limit; they continue.
   */
  apply(table: RouteTable, changed?: ReadonlySet<string>): Promise<void>;
  /** Stops accepting requests. Resolves when those in progress have ended, or after a time limit. */
  close(): Promise<void>;
}

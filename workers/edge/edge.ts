import type { EdgeFigures } from '../../shared/routing/store.js';
import type { RouteTable } from './route-table.js';

/** Serves visitors' requests for the hosts of a route table. */
export interface Edge {
  readonly figures: EdgeFigures;
  listen(): Promise<void>;
  /**
   * Serves this table from now on. `changed` names the hosts whose routes may differ; if absent, all are compared.
   * Calls may overlap; the latest table wins. Resolves when requests in progress to replicas that are not in the table
   * have ended, except event streams, upgraded connections and requests that exceed a time limit.
   */
  apply(table: RouteTable, changed?: ReadonlySet<string>): Promise<void>;
  /** Resolves when the requests in progress have ended, or after a time limit. */
  close(): Promise<void>;
}

import { join } from 'node:path';
import type { Config } from '../../shared/config.js';
import type { Logger } from '../../shared/log.js';
import { CaddyEdge } from './caddy/caddy-edge.js';
import type { Edge } from './edge.js';
import { NodeEdge } from './proxy/node-edge.js';

export interface EdgeNeeds {
  log: Logger;
  /** Asks for a fresh route of a service and resolves when it is applied. */
  refresh: (serviceId: string) => Promise<void>;
}

/** The edge that the settings ask for (`EDGE`). */
export function createEdge(config: Config, { log, refresh }: EdgeNeeds): Edge {
  const { edgePort: port, edgeDomain: domain, caddyAdminUrl: adminUrl, edgeTls: tls } = config;
  const imagesDir = join(config.dataDir, 'images');
  if (config.edge === 'node') return new NodeEdge({ port, imagesDir, log, refresh });
  return new CaddyEdge({ port, domain, adminUrl, tls, imagesDir, log, refresh });
}

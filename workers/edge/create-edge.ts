import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import type { Logger } from '../../shared/core/log.js';
import type { Edge } from './edge.js';
import { NodeEdge } from './proxy/node-edge.js';
import type { TrafficMeter } from './traffic-meter.js';

export interface EdgeNeeds {
  log: Logger;
  /** Loads a service's route again, and resolves when it is applied. */
  refresh: (serviceId: string) => Promise<void>;
  traffic: TrafficMeter;
}

/** Creates the edge that the setting `EDGE` names. */
export async function createEdge(config: Config, { log, refresh, traffic }: EdgeNeeds): Promise<Edge> {
  const {
    edgePort: port,
    edgeDomain: domain,
    caddyAdminUrl: adminUrl,
    edgeSocketDir: socketDir,
    edgeTls: tls,
    edgeLimits: limits,
  } = config;
  const imagesDir = join(config.dataDir, 'images');
  const descriptor = config.listenDescriptor;
  if (config.edge === 'node') return new NodeEdge({ port, descriptor, imagesDir, limits, log, refresh, traffic });
  const { CaddyEdge } = await import('./caddy/caddy-edge.js');
  return new CaddyEdge({ port, domain, adminUrl, socketDir, tls, imagesDir, limits, log, refresh, traffic });
}

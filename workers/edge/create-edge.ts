import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import type { Logger } from '../../shared/core/log.js';
import type { Edge } from './edge.js';
import { NodeEdge } from './proxy/node-edge.js';
import type { TrafficMeter } from './traffic-meter.js';

export interface EdgeNeeds {
  log: Logger;
  /** Reloads a service's route, and resolves when it is applied. */
  refresh: (serviceId: string) => Promise<void>;
  /** Wakes a sleeping service. Never throws. */
  wake: (serviceId: string) => void;
  traffic: TrafficMeter;
}

/** Creates the kind of edge that the setting `EDGE` selects. */
export async function createEdge(config: Config, { log, refresh, wake, traffic }: EdgeNeeds): Promise<Edge> {
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
  if (config.edge === 'node') return new NodeEdge({ port, descriptor, imagesDir, limits, log, refresh, wake, traffic });
  const { CaddyEdge } = await import('./caddy/caddy-edge.js');
  return new CaddyEdge({ port, domain, adminUrl, socketDir, tls, imagesDir, limits, log, refresh, wake, traffic });
}

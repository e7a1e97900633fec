import type { Db } from '../../../shared/db/client.js';
import { findWorkspace } from '../../../shared/db/identity.js';
import { readLogs } from '../../../shared/db/log-lines.js';
import type { ServiceView } from '../../../shared/db/services.js';
import { planOf } from '../../../shared/domain/catalog.js';
import { workspaceConfiguration } from '../../../shared/domain/workspace.js';
import { isHosted } from '../../availability.js';
import { defineRead } from '../../route.js';
import { readService } from '../services/load.js';
import { LogQuery, LogResponse } from './schema.js';

const MOST_LINES = 500;
const LOOKBACK_HOURS = 24;

export const logRoutes = [
  defineRead({
    path: '/workspaces/:workspaceId/services/:serviceId/logs',
    operation: 'log.read',
    summary: "Read a service's logs, in ascending order of id",
    query: LogQuery,
    response: LogResponse,
    handler: async (request) => {
      const service = await readService(request);
      const { after, limit = MOST_LINES, hours = LOOKBACK_HOURS, deploymentId, source, search } = request.query;
      const { lines, hasMore } = await readLogs(request.db, {
        serviceId: service.id,
        deploymentId,
        branch: deploymentId === undefined ? await shownBranch(request.db, service) : undefined,
        source,
        search,
        hours: clamp(hours, 1, planOf(service.configuration.plan).logDays * 24),
        after,
        limit,
      });
      return {
        available: isHosted(request.deps.config, service),
        cursor: lines.at(-1)?.id ?? after ?? 0,
        hasMore,
        items: lines.map(({ id, level, message, source, logged_at }) => ({
          id,
          level,
          message,
          source,
          timestamp: logged_at.toISOString(),
        })),
        limit,
      };
    },
  }),
];

/** The only branch whose lines show unasked, where the workspace wants no previews' lines. */
async function shownBranch(db: Db, service: ServiceView): Promise<string | undefined> {
  const workspace = await findWorkspace(db, service.workspace_id);
  const { includePreviewLogs } = workspaceConfiguration(workspace?.configuration ?? {});
  return includePreviewLogs ? undefined : service.configuration.branch;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

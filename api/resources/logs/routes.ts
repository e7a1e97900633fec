import { invalidRequest } from '../../../shared/core/error-registry.js';
import { planOf } from '../../../shared/services/plan-catalog.js';
import { getService, type ServiceView } from '../../../shared/services/store.js';
import { workspaceConfiguration } from '../../../shared/workspaces/model.js';
import type { WorkspaceAccess } from '../../http/api-deps.js';
import { defineRoute, type ReadRequest } from '../../http/route.js';
import { readService } from '../services/find-service.js';
import { isHosted } from '../services/present.js';
import { isFiltered, readLogs } from './read-lines.js';
import { LogQuery, LogResponse } from './schema.js';

const MAX_LINES = 500;
const LOOKBACK_HOURS = 24;

export const logRoutes = [
  defineRoute('GET', '/workspaces/:workspaceId/services/:serviceId/logs', 'log.read', {
    summary: 'Read logs',
    description:
      'Lines by ascending id: with after, the lines that follow it; with before, the lines that precede it; otherwise the newest. To follow a log, send the cursor of the last answer as after.',
    query: LogQuery,
    isSearch: ({ query: { search, source, deploymentId, runId }, workspace }) =>
      isFiltered({ search, source }) || ((deploymentId ?? runId) === undefined && !showsPreviews(workspace)),
    response: LogResponse,
    handler: async (request) => {
      const service = await readService(request);
      const {
        after,
        limit = MAX_LINES,
        hours = LOOKBACK_HOURS,
        before,
        deploymentId,
        runId,
        source,
        search,
      } = request.query;
      if (after !== undefined && before !== undefined)
        throw invalidRequest('query.before', 'cannot be given with after');
      const query = {
        serviceId: service.id,
        deploymentId,
        runId,
        branch: (deploymentId ?? runId) === undefined ? await shownBranch(request, service) : undefined,
        source,
        search,
        hours: clamp(hours, 1, planOf(service.configuration.plan).logDays * 24),
        after,
        before,
        limit,
      };
      const { lines, hasMore, cursor, unsearchedBefore } = await readLogs(request.db, query);
      return {
        available: isHosted(request.deps.config, service),
        cursor,
        hasMore,
        items: lines.map(({ id, level, message, run_id, source, logged_at }) => ({
          id,
          level,
          message,
          ...(run_id === null ? {} : { runId: run_id }),
          source,
          timestamp: logged_at.toISOString(),
        })),
        limit,
        ...(unsearchedBefore === null ? {} : { unsearchedBefore }),
      };
    },
  }),
];

function showsPreviews({ row }: WorkspaceAccess): boolean {
  return workspaceConfiguration(row.configuration).includePreviewLogs;
}

/**
 * Returns the branch to which a log is limited: the branch of the service, or for a preview the branch of its base
 * service. The log of a preview therefore lacks the lines of the preview's own deployments. Returns undefined if the
 * workspace includes logs of previews, because logs then have lines of all branches.
 */
async function shownBranch(
  { db, workspace }: Pick<ReadRequest<'/workspaces/:workspaceId'>, 'db' | 'workspace'>,
  service: ServiceView,
): Promise<string | undefined> {
  if (showsPreviews(workspace)) return undefined;
  const base = service.preview_of === null ? service : await getService(db, service.preview_of);
  return (base ?? service).configuration.branch;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

import type { Static } from 'typebox';
import type { Config } from '../../../shared/core/config.js';
import type { Db } from '../../../shared/core/database/database-client.js';
import { invalidRequest } from '../../../shared/core/error-registry.js';
import { findEnvironment } from '../../../shared/environments/store.js';
import { found } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { findProject } from '../projects/store.js';
import { presentService } from '../services/present.js';
import type { CanvasScope } from './model.js';
import { saveCanvas } from './save-canvas.js';
import { type CanvasPresentation, CanvasQuery, CanvasResponse, SaveCanvasBody } from './schema.js';
import { type CanvasView, readCanvas } from './store.js';

function presentCanvas(canvas: CanvasView, scope: CanvasScope, config: Config): CanvasPresentation {
  const { services, groups, edges, layout } = canvas;
  return {
    ...{ nodes: services.map((row) => presentService(row, config)), groups, edges, layout },
    scope: { projectId: scope.projectId, environmentId: scope.environmentId },
  };
}

interface ScopeRequest {
  db: Db;
  params: { workspaceId: string };
  query: Static<typeof CanvasQuery>;
}

/**
 * Returns the scope that the query selects. Throws not_found if the project or environment does not exist, and
 * invalid_request if the ids do not fit together.
 */
async function readScope({ db, params: { workspaceId }, query }: ScopeRequest): Promise<CanvasScope> {
  if (query.projectId === undefined) {
    if (query.environmentId !== undefined) throw invalidRequest('query.projectId', 'is needed with environmentId');
    return { workspaceId, projectId: null, environmentId: null };
  }
  const project = found(await findProject(db, workspaceId, query.projectId));
  if (query.environmentId === undefined) return { workspaceId, projectId: project.id, environmentId: null };
  const environment = found(await findEnvironment(db, workspaceId, query.environmentId));
  if (environment.project_id !== project.id)
    throw invalidRequest('query.environmentId', 'is no environment of this project');
  return { workspaceId, projectId: project.id, environmentId: environment.id };
}

const CANVAS = '/workspaces/:workspaceId/canvas';

export const canvasRoutes = [
  defineRoute('GET', CANVAS, 'canvas.read', {
    summary: 'Read a canvas',
    description:
      'The services of the workspace, of one project or of one environment, with their positions and references.',
    errors: ['canvas_too_large'],
    query: CanvasQuery,
    response: CanvasResponse,
    handler: async (request) => {
      const scope = await readScope(request);
      return presentCanvas(await readCanvas(request.db, scope), scope, request.deps.config);
    },
  }),
  defineRoute('PATCH', CANVAS, 'canvas.save', {
    summary: 'Save a canvas',
    description:
      'Replaces the positions and the viewport. revision is the one that was read; each save raises it by one.',
    errors: ['canvas_invalid_node', 'canvas_revision_conflict', 'canvas_too_large'],
    query: CanvasQuery,
    body: SaveCanvasBody,
    example: {
      revision: 3,
      positions: { '0198c0de-0000-7000-8000-000000000001': { x: 120, y: 80 } },
      viewport: { x: 0, y: 0, zoom: 1 },
    },
    response: CanvasResponse,
    keyed: false,
    handler: async ({ deps, trx, params, query, body }) => {
      const scope = await readScope({ db: trx, params, query });
      return presentCanvas(await saveCanvas(trx, scope, body), scope, deps.config);
    },
  }),
];

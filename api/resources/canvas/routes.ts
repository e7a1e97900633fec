import { defineRoute } from '../../http/route.js';
import { readScope } from './canvas-scope.js';
import { presentCanvas } from './present.js';
import { saveCanvas } from './save-canvas.js';
import { CanvasQuery, CanvasResponse, SaveCanvasBody } from './schema.js';
import { readCanvas } from './store.js';

const CANVAS = '/workspaces/:workspaceId/canvas';

export const canvasRoutes = [
  defineRoute({
    method: 'GET',
    path: CANVAS,
    operation: 'canvas.read',
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
  defineRoute({
    method: 'PATCH',
    path: CANVAS,
    operation: 'canvas.save',
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

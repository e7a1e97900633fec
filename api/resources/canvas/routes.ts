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
    summary: 'Read the canvas of the workspace, of one project or of one environment',
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
    summary: 'Replace the positions and the viewport of a canvas',
    query: CanvasQuery,
    body: SaveCanvasBody,
    response: CanvasResponse,
    keyed: false,
    handler: async ({ deps, trx, params, query, body }) => {
      const scope = await readScope({ db: trx, params, query });
      return presentCanvas(await saveCanvas(trx, scope, body), scope, deps.config);
    },
  }),
];

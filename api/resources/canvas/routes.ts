import { saveCanvas } from '../../../shared/commands/save-canvas.js';
import { readCanvas } from '../../../shared/db/canvas.js';
import { defineRead, defineWrite } from '../../route.js';
import { loadScope } from './load.js';
import { presentCanvas } from './present.js';
import { CanvasQuery, CanvasResponse, SaveCanvasBody } from './schema.js';

const CANVAS = '/workspaces/:workspaceId/canvas';

export const canvasRoutes = [
  defineRead({
    path: CANVAS,
    operation: 'canvas.read',
    summary: 'Read the canvas of the workspace, of one project or of one environment',
    query: CanvasQuery,
    response: CanvasResponse,
    handler: async (request) => {
      const scope = await loadScope(request);
      return presentCanvas(await readCanvas(request.db, scope), scope, request.deps.config);
    },
  }),
  defineWrite({
    method: 'PATCH',
    path: CANVAS,
    operation: 'canvas.save',
    summary: 'Replace the positions and the viewport of a canvas',
    query: CanvasQuery,
    body: SaveCanvasBody,
    response: CanvasResponse,
    keyed: false,
    handler: async ({ deps, trx, params, query, body }) => {
      const scope = await loadScope({ db: trx, params, query });
      return presentCanvas(await saveCanvas(trx, scope, body), scope, deps.config);
    },
  }),
];

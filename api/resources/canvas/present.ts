import type { Config } from '../../../shared/core/config.js';
import { presentService } from '../services/present.js';
import type { CanvasScope } from './model.js';
import type { CanvasPresentation } from './schema.js';
import type { CanvasView } from './store.js';

export function presentCanvas(canvas: CanvasView, scope: CanvasScope, config: Config): CanvasPresentation {
  const { revision, positions, viewport } = canvas.layout;
  return {
    nodes: canvas.services.map((row) => presentService(row, config)),
    groups: canvas.groups.map(({ id, name, environmentId, serviceIds }) => ({ id, name, environmentId, serviceIds })),
    edges: canvas.edges.map(({ id, source, target, kind, keys }) => ({ id, source, target, kind, keys })),
    layout: { revision, positions, viewport },
    scope: { projectId: scope.projectId, environmentId: scope.environmentId },
  };
}

import type { Config } from '../../../shared/config.js';
import type { CanvasView } from '../../../shared/db/canvas.js';
import type { CanvasScope } from '../../../shared/domain/canvas.js';
import { presentService } from '../services/present.js';
import type { CanvasPresentation } from './schema.js';

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

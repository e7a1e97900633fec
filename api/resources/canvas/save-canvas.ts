import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { shareLockEnvironment } from '../../../shared/environments/store.js';
import { shareLockProject } from '../projects/store.js';
import type { CanvasLayout, CanvasScope } from './model.js';
import { type CanvasView, readCanvas, replaceLayout } from './store.js';

const MAX_DETAILS = 20;

/**
 * Replaces the saved layout of a canvas (specification, Canvas rules). Throws not_found if the project or environment
 * does not exist, canvas_revision_conflict if `layout.revision` is not current, canvas_invalid_node for a position of
 * an unknown node, and canvas_too_large if the canvas exceeds a limit.
 */
export async function saveCanvas(trx: Transaction, scope: CanvasScope, layout: CanvasLayout): Promise<CanvasView> {
  await hold(trx, scope);
  if (!(await replaceLayout(trx, scope, layout))) throw new AppError('canvas_revision_conflict');
  const canvas = await readCanvas(trx, scope);
  assertShown(layout, canvas);
  return canvas;
}

/** Locks the canvas's environment and project, so that neither can be deleted before the commit. */
async function hold(trx: Transaction, { workspaceId, projectId, environmentId }: CanvasScope): Promise<void> {
  if (environmentId !== null && !(await shareLockEnvironment(trx, workspaceId, environmentId))) {
    throw new AppError('not_found');
  }
  if (projectId !== null && !(await shareLockProject(trx, workspaceId, projectId))) throw new AppError('not_found');
}

function assertShown(layout: CanvasLayout, canvas: CanvasView): void {
  const unknown = Object.keys(layout.positions).filter((id) => !Object.hasOwn(canvas.layout.positions, id));
  if (unknown.length === 0) return;
  const details = unknown.slice(0, MAX_DETAILS).map((id) => ({
    path: `/positions/${id}`,
    message: 'is not a node of the current canvas',
  }));
  throw new AppError('canvas_invalid_node', undefined, details);
}

import { type CanvasView, readCanvas, replaceLayout } from '../db/canvas.js';
import type { Transaction } from '../db/client.js';
import { holdEnvironment } from '../db/environments.js';
import { holdProject } from '../db/projects.js';
import type { CanvasLayout, CanvasScope } from '../domain/canvas.js';
import { AppError } from '../errors.js';

const MOST_DETAILS = 20;

/**
 * Replaces what people arranged in a scope; `layout.revision` is the one that they saw (specification, Canvas rules).
 * Nothing but the layout changes. Throws not_found, canvas_revision_conflict, canvas_invalid_node, canvas_too_large.
 */
export async function saveCanvas(trx: Transaction, scope: CanvasScope, layout: CanvasLayout): Promise<CanvasView> {
  await hold(trx, scope);
  if (!(await replaceLayout(trx, scope, layout))) throw new AppError('canvas_revision_conflict');
  const canvas = await readCanvas(trx, scope);
  assertShown(layout, canvas);
  return canvas;
}

/** Keeps the scope from being deleted until the commit. */
async function hold(trx: Transaction, { workspaceId, projectId, environmentId }: CanvasScope): Promise<void> {
  if (environmentId !== null && !(await holdEnvironment(trx, workspaceId, environmentId))) {
    throw new AppError('not_found');
  }
  if (projectId !== null && !(await holdProject(trx, workspaceId, projectId))) throw new AppError('not_found');
}

/** The positions read back are those of nodes that are shown: what is missing was never there or has gone. */
function assertShown(layout: CanvasLayout, canvas: CanvasView): void {
  const unknown = Object.keys(layout.positions).filter((id) => !Object.hasOwn(canvas.layout.positions, id));
  if (unknown.length === 0) return;
  const details = unknown.slice(0, MOST_DETAILS).map((id) => ({
    path: `/positions/${id}`,
    message: 'is no node of the current canvas',
  }));
  throw new AppError('canvas_invalid_node', undefined, details);
}

import { type Db, rowsOf, type Transaction } from '../../../shared/core/database/database-client.js';
import { IS_PREVIEW, type ServiceView, serviceViews } from '../../../shared/services/store.js';
import {
  assertWithin,
  CANVAS_LIMITS,
  type CanvasEdge,
  type CanvasGroup,
  type CanvasLayout,
  type CanvasRecords,
  type CanvasScope,
  canvasGraph,
  nodeIds,
  shownPositions,
} from './model.js';

export interface CanvasView {
  services: ServiceView[];
  groups: CanvasGroup[];
  edges: CanvasEdge[];
  layout: CanvasLayout;
}

/** Reads a canvas. Throws canvas_too_large if it exceeds a limit. */
export async function readCanvas(db: Db, scope: CanvasScope): Promise<CanvasView> {
  const services = await activeServices(db, scope);
  assertWithin('nodes', services);
  const serviceIds = services.map(({ id }) => id);
  const groups = await groupsWithin(db, scope, serviceIds);
  assertWithin('groups', groups);
  const ids = { serviceIds, groupIds: groups.map(({ id }) => id) };
  const links = await linksAmong(db, ids);
  const references = await referencesAmong(db, ids);
  const graph = canvasGraph({ services, groups, links, references });
  const layout = await findLayout(db, scope);
  const positions = shownPositions(layout.positions, nodeIds(services, graph));
  return { services, ...graph, layout: { ...layout, positions } };
}

async function activeServices(db: Db, { workspaceId, projectId, environmentId }: CanvasScope): Promise<ServiceView[]> {
  const query = serviceViews(db)
    .where('s.workspace_id', workspaceId)
    .where('s.archived', false)
    .whereNot('s.lifecycle_status', 'deleting')
    .whereNull('s.deleted_at')
    .whereRaw(`not ${IS_PREVIEW}`);
  if (projectId !== null) query.where('s.project_id', projectId);
  if (environmentId !== null) query.where('s.environment_id', environmentId);
  query.orderBy([
    { column: 's.created_at', order: 'desc' },
    { column: 's.id', order: 'desc' },
  ]);
  return (await query.limit(CANVAS_LIMITS.nodes + 1)) as ServiceView[];
}

/**
 * Returns the environment groups of a canvas. The canvas of a workspace has all groups. The canvas of a project or
 * environment has its own groups, and groups of no environment that are linked to one of its services.
 */
async function groupsWithin(
  db: Db,
  scope: CanvasScope,
  serviceIds: readonly string[],
): Promise<CanvasRecords['groups']> {
  return rowsOf(
    db,
    `select g.id, g.name, g.environment_id
       from environment_groups g left join environments e on e.id = g.environment_id
      where g.workspace_id = :workspaceId
        and (cast(:projectId as uuid) is null
          or (e.project_id = :projectId and (cast(:environmentId as uuid) is null or e.id = :environmentId))
          or (g.environment_id is null
            and exists (select 1 from environment_group_services l
                         where l.group_id = g.id and l.service_id = any(cast(:serviceIds as uuid[])))))
      order by g.created_at desc, g.id desc limit :limit`,
    { ...scope, serviceIds, limit: CANVAS_LIMITS.groups + 1 },
  );
}

interface Ends {
  serviceIds: readonly string[];
  groupIds: readonly string[];
}

async function linksAmong(db: Db, ends: Ends): Promise<CanvasRecords['links']> {
  return rowsOf(
    db,
    `select l.group_id, l.service_id
       from environment_group_services l
       join environment_groups g on g.id = l.group_id
       join services s on s.id = l.service_id
      where l.service_id = any(cast(:serviceIds as uuid[])) and l.group_id = any(cast(:groupIds as uuid[]))
        and (g.environment_id is null or g.environment_id = s.environment_id)
      order by l.created_at, l.group_id, l.service_id limit :limit`,
    { ...ends, limit: CANVAS_LIMITS.edges + 1 },
  );
}

async function referencesAmong(db: Db, ends: Ends): Promise<CanvasRecords['references']> {
  return rowsOf(
    db,
    `select service_id, group_id, reference_service_id as provider_id, key
       from variables
      where reference_service_id = any(cast(:serviceIds as uuid[]))
        and (service_id = any(cast(:serviceIds as uuid[])) or group_id = any(cast(:groupIds as uuid[])))
      order by key, id limit :limit`,
    { ...ends, limit: CANVAS_LIMITS.references + 1 },
  );
}

const UNSAVED: CanvasLayout = { revision: 0, positions: {}, viewport: null };

async function findLayout(db: Db, scope: CanvasScope): Promise<CanvasLayout> {
  const row: CanvasLayout | undefined = await db('canvas_layouts')
    .where({ scope_id: scopeId(scope) })
    .first('revision', 'positions', 'viewport');
  return row ?? UNSAVED;
}

/** Replaces a layout. Returns false if `revision` is not current, so only one of several concurrent saves succeeds. */
export async function replaceLayout(
  trx: Transaction,
  scope: CanvasScope,
  { revision, positions, viewport }: CanvasLayout,
): Promise<boolean> {
  const saved = await rowsOf(trx, revision === 0 ? INSERT : UPDATE, {
    ...scope,
    scopeId: scopeId(scope),
    revision,
    positions: JSON.stringify(positions),
    viewport: viewport && JSON.stringify(viewport),
  });
  return saved.length > 0;
}

const INSERT = `
  insert into canvas_layouts (scope_id, workspace_id, project_id, environment_id, revision, positions, viewport)
  values (:scopeId, :workspaceId, :projectId, :environmentId, 1, :positions, :viewport)
  on conflict (scope_id) do nothing returning revision`;

const UPDATE = `
  update canvas_layouts
     set revision = revision + 1, positions = :positions, viewport = :viewport, updated_at = now()
   where scope_id = :scopeId and revision = :revision returning revision`;

function scopeId({ workspaceId, projectId, environmentId }: CanvasScope): string {
  return environmentId ?? projectId ?? workspaceId;
}

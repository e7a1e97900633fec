import { type Static, Type } from 'typebox';
import { AppError } from '../../../shared/core/error-registry.js';

/** Limits of a canvas. A request that exceeds a limit is refused, because a canvas is never shown incompletely. */
export const CANVAS_LIMITS = { nodes: 2000, groups: 2000, edges: 10_000, references: 10_000, positions: 2000 } as const;

const FARTHEST = 10_000_000;
const Coordinate = Type.Number({ minimum: -FARTHEST, maximum: FARTHEST });

/** Positions of nodes. Each key is a service's id, or `group:<id>` for an environment group. */
export const CanvasPositions = Type.Record(
  Type.String({ pattern: '^(group:)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
  Type.Object({ x: Coordinate, y: Coordinate }, { additionalProperties: false }),
  { additionalProperties: false, maxProperties: CANVAS_LIMITS.positions },
);
export type CanvasPositions = Static<typeof CanvasPositions>;

export const CanvasViewport = Type.Object(
  { x: Coordinate, y: Coordinate, zoom: Type.Number({ minimum: 0.1, maximum: 4 }) },
  { additionalProperties: false },
);
export type CanvasViewport = Static<typeof CanvasViewport>;

/** A saved layout. Revision 0 means that the layout was never saved. */
export interface CanvasLayout {
  revision: number;
  positions: CanvasPositions;
  viewport: CanvasViewport | null;
}

export interface CanvasScope {
  workspaceId: string;
  projectId: string | null;
  environmentId: string | null;
}

/** The records of a canvas. Each list has at most one record more than its limit, to show that it is exceeded. */
export interface CanvasRecords {
  services: readonly { id: string }[];
  groups: readonly { id: string; name: string; environment_id: string | null }[];
  links: readonly { group_id: string; service_id: string }[];
  /** Variables of a service or group that refer to a service. Both ends are shown on the canvas. */
  references: readonly { service_id: string | null; group_id: string | null; provider_id: string; key: string }[];
}

export interface CanvasGroup {
  /** In the format `group:<id>`. */
  id: string;
  name: string;
  environmentId: string | null;
  serviceIds: string[];
}

export interface CanvasEdge {
  /** The edge's id. It is the same in every response until the connection between the two nodes is removed. */
  id: string;
  source: string;
  target: string;
  kind: 'reference' | 'environment-group';
  /** Only for a reference: keys of the variables of `source` that refer to `target`. */
  keys?: string[];
}

export interface CanvasGraph {
  groups: CanvasGroup[];
  edges: CanvasEdge[];
}

/** Builds the graph of a canvas (specification, Canvas). Throws canvas_too_large if it exceeds a limit. */
export function canvasGraph(records: CanvasRecords): CanvasGraph {
  assertWithin('nodes', records.services);
  assertWithin('groups', records.groups);
  assertWithin('references', records.references);
  const edges = [...referenceEdges(records.references), ...groupEdges(records.links)];
  assertWithin('edges', edges);
  const groups = new Map(records.groups.map((group) => [group.id, presentGroup(group)]));
  for (const { group_id, service_id } of records.links) groups.get(group_id)?.serviceIds.push(service_id);
  return { groups: [...groups.values()], edges };
}

export function assertWithin(kind: keyof typeof CANVAS_LIMITS, records: readonly unknown[]): void {
  const limit = CANVAS_LIMITS[kind];
  if (records.length <= limit) return;
  throw new AppError('canvas_too_large', `The scope has more than ${limit} ${kind}; choose a project or environment`);
}

function groupNode(id: string): string {
  return `group:${id}`;
}

function presentGroup({ id, name, environment_id }: CanvasRecords['groups'][number]): CanvasGroup {
  return { id: groupNode(id), name, environmentId: environment_id, serviceIds: [] };
}

/** Returns one edge for all variables of a service or group that refer to the same service. */
function referenceEdges(references: CanvasRecords['references']): CanvasEdge[] {
  const edges = new Map<string, CanvasEdge & { keys: string[] }>();
  for (const { service_id, group_id, provider_id, key } of references) {
    const source = service_id ?? groupNode(group_id ?? '');
    const id = `reference:${source}:${provider_id}`;
    const edge = edges.get(id) ?? { id, source, target: provider_id, kind: 'reference', keys: [] };
    edge.keys.push(key);
    edges.set(id, edge);
  }
  return [...edges.values()];
}

function groupEdges(links: CanvasRecords['links']): CanvasEdge[] {
  return links.map(({ group_id, service_id }) => ({
    id: `environment-group:${group_id}:${service_id}`,
    source: groupNode(group_id),
    target: service_id,
    kind: 'environment-group',
  }));
}

export function nodeIds(services: CanvasRecords['services'], { groups }: CanvasGraph): Set<string> {
  return new Set([...services, ...groups].map(({ id }) => id));
}

export function shownPositions(positions: CanvasPositions, nodes: ReadonlySet<string>): CanvasPositions {
  return Object.fromEntries(Object.entries(positions).filter(([id]) => nodes.has(id)));
}

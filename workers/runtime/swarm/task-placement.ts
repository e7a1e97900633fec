import type { Service } from 'dockerode';
import type { ReplicaRow } from '../../replicas/rows.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { LABELS } from './service-spec.js';
import { labelsOf, type SwarmNode, type SwarmView } from './swarm-view.js';

const ON_NODE = 'node.id==';

/** Returns the placement constraint for one node. */
export function onNode(nodeId: string): string {
  return `${ON_NODE}${nodeId}`;
}

/**
 * Returns the placement constraint for a new replica; none if any node will do. Without it, Swarm would place all
 * replicas of a release, which are separate services, on the least busy node, and they would fail together. The order
 * of `siblings` is the same for every replica, so that they choose different nodes.
 */
export function startingPlacement(
  view: SwarmView,
  { configuration: { region } }: Pick<ReleaseSpec, 'configuration'>,
  replicaId: string,
  siblings: readonly Pick<ReplicaRow, 'id'>[],
): string[] {
  const usable = view.nodes.filter((node) => takesTasks(node, region));
  if (usable.length < 2 || siblings.length < 2) return [];
  const places = usable.map(({ ID }) => ({ ID, siblings: 0, tasks: view.tasksOn(ID) }));
  const waiting = siblings.filter(({ id }) => {
    const place = id !== replicaId && places.find(({ ID }) => ID === view.nodeIdOf(id));
    if (place) place.siblings += 1;
    return !place;
  });
  for (const { id } of waiting) {
    const [place] = places.sort((a, b) => a.siblings - b.siblings || a.tasks - b.tasks || (a.ID < b.ID ? -1 : 1));
    if (!place) break;
    if (id === replicaId) return [`${ON_NODE}${place.ID}`];
    place.siblings += 1;
    place.tasks += 1;
  }
  return [];
}

/** Returns the node of a region with the fewest tasks; undefined if none accepts tasks. */
export function leastBusyNode(view: SwarmView, region: string): SwarmNode | undefined {
  const usable = view.nodes.filter((node) => takesTasks(node, region));
  return usable.sort((a, b) => view.tasksOn(a.ID) - view.tasksOn(b.ID))[0];
}

function takesTasks({ Spec, Status }: SwarmNode, region: string): boolean {
  const inRegion = region === 'auto' || Spec.Labels?.region === region;
  return inRegion && Status.State === 'ready' && Spec.Availability === 'active';
}

/**
 * Returns a service's placement without the constraint to one node. Returns null if there is nothing to change, or if
 * the service's volume is on that node.
 */
export function freedPlacement(service: Service): { Constraints: string[] } | null {
  if (labelsOf(service)[LABELS.volume] !== undefined) return null;
  const constraints = service.Spec?.TaskTemplate?.Placement?.Constraints ?? [];
  const kept = constraints.filter((constraint) => !constraint.startsWith(ON_NODE));
  return kept.length < constraints.length ? { Constraints: kept } : null;
}

/** Returns the node to which a service is pinned; undefined if the swarm has no such node. */
export function pinnedNode(service: Service, nodes: readonly SwarmNode[]): SwarmNode | undefined {
  const constraints = service.Spec?.TaskTemplate?.Placement?.Constraints ?? [];
  return nodes.find(({ ID }) => constraints.includes(onNode(ID)));
}

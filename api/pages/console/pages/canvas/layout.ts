import type { Edge, Node } from '@xyflow/react';
import type { Canvas, Service } from '../../api/types.js';
import { KIND_TEXT } from '../../ui/source-text.js';

const CARD = { width: 232, height: 84 };
const GROUP = { width: 168, height: 44 };
/** The horizontal gap has room for a variable's name on the edge between two cards. */
const GAP = { x: 140, y: 36 };

export type ServiceNode = Node<{ service: Service }, 'service'>;
export type GroupNode = Node<{ name: string; services: number }, 'environmentGroup'>;
export type CanvasNode = ServiceNode | GroupNode;
type Positions = Canvas['layout']['positions'];

/**
 * Returns the nodes of a canvas. Shown nodes keep their places, unless another user has `moved` nodes. An unchanged
 * node stays the same object, so that React does not draw it again.
 */
export function nodesOf(canvas: Canvas, shown: readonly CanvasNode[], moved: boolean): CanvasNode[] {
  const before = new Map(shown.map((node) => [node.id, node]));
  const known = (id: string) => (moved ? undefined : before.get(id)?.position) ?? canvas.layout.positions[id];
  const place = freePlaces(canvas, known);
  const services = canvas.nodes.map((service): CanvasNode => {
    const old = before.get(service.id) as ServiceNode | undefined;
    const position = known(service.id) ?? place();
    if (old && old.data.service === service && samePlace(old.position, position)) return old;
    return {
      ...old,
      id: service.id,
      type: 'service',
      position,
      data: { service },
      ...CARD,
      ariaLabel: `${service.name}, ${KIND_TEXT[service.kind]}`,
    };
  });
  const groups = canvas.groups.map((group): CanvasNode => {
    const old = before.get(group.id) as GroupNode | undefined;
    const position = known(group.id) ?? place();
    return {
      ...old,
      id: group.id,
      type: 'environmentGroup',
      position,
      data: { name: group.name, services: group.serviceIds.length },
      ...GROUP,
      selectable: false,
      ariaLabel: `Environment group ${group.name}`,
    };
  });
  return [...services, ...groups];
}

function freePlaces(canvas: Canvas, known: (id: string) => { x: number; y: number } | undefined) {
  const ids = [...canvas.nodes, ...canvas.groups].map(({ id }) => id);
  const taken = ids.map(known).filter((place) => place !== undefined);
  const left = taken.length === 0 ? 0 : Math.min(...taken.map(({ x }) => x));
  const top = taken.length === 0 ? 0 : Math.max(...taken.map(({ y }) => y)) + CARD.height + GAP.y;
  const columns = Math.max(1, Math.ceil(Math.sqrt((ids.length - taken.length) * 0.6)));
  let next = 0;
  return () => {
    const index = next++;
    return {
      x: left + (index % columns) * (CARD.width + GAP.x),
      y: top + Math.floor(index / columns) * (CARD.height + GAP.y),
    };
  };
}

function samePlace(a: { x: number; y: number }, b: { x: number; y: number }): boolean {
  return a.x === b.x && a.y === b.y;
}

export function positionsOf(nodes: readonly CanvasNode[]): Positions {
  return Object.fromEntries(
    nodes.map(({ id, position }) => [id, { x: Math.round(position.x), y: Math.round(position.y) }]),
  );
}

export function boundsOf(nodes: readonly CanvasNode[]): { x: number; y: number; width: number; height: number } {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const { position, width = 0, height = 0 } of nodes) {
    box.left = Math.min(box.left, position.x);
    box.top = Math.min(box.top, position.y);
    box.right = Math.max(box.right, position.x + width);
    box.bottom = Math.max(box.bottom, position.y + height);
  }
  const [width, height] = [box.right - box.left, box.bottom - box.top];
  // A single card would otherwise fill the screen.
  const [more, higher] = [Math.max(0, 4 * CARD.width - width), Math.max(0, 6 * CARD.height - height)];
  return { x: box.left - more / 2, y: box.top - higher / 2, width: width + more, height: height + higher };
}

/** Returns the edges: from a service or group that provides variables to the service that uses them. */
export function edgesOf(canvas: Canvas): Edge[] {
  return canvas.edges.map(({ id, source, target, kind, keys }) => ({
    id,
    // In the API, the source of a reference is the service that uses the variable, so the two ends are swapped.
    ...(kind === 'reference' ? { source: target, target: source } : { source, target }),
    className: kind,
    focusable: false,
    selectable: false,
    ...(keys && keys.length > 0 ? { label: keys.length > 2 ? `${keys.length} variables` : keys.join(', ') } : {}),
  }));
}

import { useReactFlow, useStore } from '@xyflow/react';
import { type PointerEvent, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { serviceStatus } from '../../ui/status.js';
import { onColoursChange } from '../../ui/theme.js';
import type { Tone } from '../../ui/tone.js';
import u from '../../ui/ui.module.css';
import c from './canvas.module.css';
import type { CanvasNode } from './layout.js';

/** With more nodes than this, panning drops frames if each node is a DOM element, even a plain box. */
const MANY = 300;
const TONES: readonly Tone[] = ['good', 'bad', 'warn', 'busy', 'plain'];
const CORNER = 8;
/** Below this zoom, round corners look like square ones. */
const ROUND_ZOOM = 0.25;

/**
 * Splits the nodes of a zoomed-out view for speed. `painted` nodes are drawn on one <canvas>. Selected nodes and the
 * node under the pointer are DOM elements, which can be dragged.
 */
export function useFarNodes(nodes: readonly CanvasNode[], far: boolean) {
  const { screenToFlowPosition } = useReactFlow();
  const [under, setUnder] = useState<string | null>(null);
  const painting = far && nodes.length > MANY;
  const [elements, painted] = useMemo(() => {
    if (!painting) return [nodes as CanvasNode[], null];
    const isElement = ({ id, selected }: CanvasNode) => id === under || selected === true;
    return [nodes.filter(isElement), nodes.filter((node) => !isElement(node))];
  }, [nodes, under, painting]);
  const onPointerMove = useCallback(
    ({ clientX, clientY, buttons }: PointerEvent) => {
      // While the user drags a node, the node under the pointer does not change.
      if (!painting || buttons !== 0) return;
      setUnder(nodeAt(nodes, screenToFlowPosition({ x: clientX, y: clientY })));
    },
    [nodes, painting, screenToFlowPosition],
  );
  return { elements, painted, onPointerMove };
}

function nodeAt(nodes: readonly CanvasNode[], { x, y }: { x: number; y: number }): string | null {
  const found = nodes.findLast(
    ({ position, width = 0, height = 0 }) =>
      x >= position.x && x <= position.x + width && y >= position.y && y <= position.y + height,
  );
  return found?.id ?? null;
}

export function FarLayer({ nodes }: { nodes: readonly CanvasNode[] }) {
  const surface = useRef<HTMLCanvasElement>(null);
  const swatches = useRef<HTMLDivElement>(null);
  const transform = useStore(({ transform }) => transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const [theme, setTheme] = useState(0);
  // Colours are looked up once for each theme, not for each frame.
  const colours = useMemo(() => new Map<Tone, string>(), [theme]);

  const byTone = useMemo(() => groupedByTone(nodes), [nodes]);

  useEffect(() => onColoursChange(() => setTheme((count) => count + 1)), []);

  useLayoutEffect(() => {
    const pen = surface.current?.getContext('2d');
    if (!pen || !swatches.current) return;
    if (colours.size === 0) {
      for (const [index, tone] of TONES.entries()) {
        const swatch = swatches.current.children[index];
        if (swatch) colours.set(tone, getComputedStyle(swatch).color);
      }
    }
    const [x, y, zoom] = transform;
    const ratio = devicePixelRatio;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, pen.canvas.width, pen.canvas.height);
    pen.setTransform(zoom * ratio, 0, 0, zoom * ratio, x * ratio, y * ratio);
    const corner = zoom < ROUND_ZOOM ? 0 : CORNER;
    // Boxes of one colour are drawn as one path, which is faster.
    for (const [tone, boxes] of byTone) {
      pen.fillStyle = colours.get(tone) ?? '';
      pen.beginPath();
      for (const { width: w = 0, height: h = 0, position } of boxes) {
        const [left, top] = [position.x * zoom + x, position.y * zoom + y];
        if (left > width || top > height || left + w * zoom < 0 || top + h * zoom < 0) continue;
        if (corner === 0) pen.rect(position.x, position.y, w, h);
        else pen.roundRect(position.x, position.y, w, h, corner);
      }
      pen.fill();
    }
  }, [byTone, transform, width, height, colours]);

  return (
    <>
      <canvas
        className={c.painted}
        ref={surface}
        width={Math.round(width * devicePixelRatio)}
        height={Math.round(height * devicePixelRatio)}
        role="img"
        aria-label={`${nodes.length} services from far away. Zoom in to read them, or open the list of services`}
      />
      <div hidden ref={swatches}>
        {TONES.map((tone) => (
          <i key={tone} className={tone === 'plain' ? c.plainBox : u[tone]} />
        ))}
      </div>
    </>
  );
}

function groupedByTone(nodes: readonly CanvasNode[]): Map<Tone, CanvasNode[]> {
  const groups = new Map<Tone, CanvasNode[]>(TONES.map((tone) => [tone, []]));
  for (const node of nodes) groups.get(toneOf(node))?.push(node);
  return groups;
}

function toneOf(node: CanvasNode): Tone {
  return node.type === 'service' ? serviceStatus(node.data.service).tone : 'plain';
}

import { type Static, Type } from 'typebox';
import { described, Nullable, oneOf, Strict, Uuid } from '../../http/schema.js';
import { ServiceSchema } from '../services/schema.js';
import { CANVAS_LIMITS, CanvasPositions, CanvasViewport } from './model.js';

export const CanvasQuery = Strict({
  projectId: Type.Optional(described(Uuid, 'Only services of this project')),
  environmentId: Type.Optional(described(Uuid, 'Only services of this environment; projectId is needed with it')),
});

/** Maximum revision of a layout. Each save increments the revision. JSON parsers may round larger integers. */
const MAX_REVISION = Number.MAX_SAFE_INTEGER;

export const SaveCanvasBody = Strict({
  revision: Type.Integer({ minimum: 0, maximum: MAX_REVISION - 1 }),
  positions: CanvasPositions,
  viewport: Nullable(CanvasViewport),
});

const GroupSchema = Strict(
  {
    id: Type.String({ pattern: '^group:' }),
    name: Type.String(),
    environmentId: Nullable(Uuid),
    serviceIds: Type.Array(Uuid),
  },
  'CanvasGroup',
);
const EdgeSchema = Strict(
  {
    id: Type.String(),
    source: Type.String(),
    target: Type.String(),
    kind: oneOf('CanvasEdgeKind', ['reference', 'environment-group']),
    keys: Type.Optional(Type.Array(Type.String())),
  },
  'CanvasEdge',
);

export const CanvasResponse = Strict(
  {
    nodes: Type.Array(ServiceSchema, { maxItems: CANVAS_LIMITS.nodes }),
    groups: Type.Array(GroupSchema, { maxItems: CANVAS_LIMITS.groups }),
    edges: Type.Array(EdgeSchema, { maxItems: CANVAS_LIMITS.edges }),
    layout: Strict({
      revision: Type.Integer({ minimum: 0, maximum: MAX_REVISION }),
      positions: CanvasPositions,
      viewport: Nullable(CanvasViewport),
    }),
    scope: Strict({ projectId: Nullable(Uuid), environmentId: Nullable(Uuid) }),
  },
  'Canvas',
);
export type CanvasPresentation = Static<typeof CanvasResponse>;

import {
  Background,
  BackgroundVariant,
  ControlButton,
  Controls,
  type NodeMouseHandler,
  type OnSelectionChangeParams,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useCallback, useMemo, useState } from 'react';
import { useRefusal } from '../../api/session.js';
import type { Canvas } from '../../api/types.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice, Notice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import c from './canvas.module.css';
import { FarLayer, useFarNodes } from './far-layer.js';
import { boundsOf, type CanvasNode, edgesOf } from './layout.js';
import { FarContext, GroupCard, ServiceCard, useFar } from './service-card.js';
import { ServicePanel } from './service-panel.js';
import { type SaveState, useSavedLayout } from './use-saved-layout.js';

const NODE_TYPES = { service: ServiceCard, environmentGroup: GroupCard };
const SAVE_TEXT: Record<SaveState, string> = {
  saved: '',
  saving: 'Saving…',
  unsaved: 'Not saved yet',
  conflict: 'Not saved',
};

export function CanvasView({ workspaceId, canvas }: { workspaceId: string; canvas: Canvas }) {
  return (
    <ReactFlowProvider>
      <Flow workspaceId={workspaceId} canvas={canvas} />
    </ReactFlowProvider>
  );
}

function Flow({ workspaceId, canvas }: { workspaceId: string; canvas: Canvas }) {
  const { nodes, change, state, error, settle } = useSavedLayout(workspaceId, canvas);
  const refusal = useRefusal(workspaceId, 'developer');
  const [openId, setOpenId] = useState<string | null>(null);
  const far = useFar();
  const { elements, painted, onPointerMove } = useFarNodes(nodes, far);
  const { fitBounds } = useReactFlow();
  const edges = useMemo(() => edgesOf(canvas), [canvas]);
  const open = canvas.nodes.find(({ id }) => id === openId);
  const { viewport } = canvas.layout;

  const onClick: NodeMouseHandler<CanvasNode> = useCallback((_, node) => {
    if (node.type === 'service') setOpenId(node.id);
  }, []);
  // The keyboard also changes the selection: Enter selects a card, Escape clears the selection.
  const onSelect = useCallback(({ nodes: [first] }: OnSelectionChangeParams<CanvasNode>) => {
    setOpenId(first?.type === 'service' ? first.id : null);
  }, []);
  return (
    <section className={c.canvas} aria-label="Canvas" data-whole-page>
      <FarContext value={far}>
        <div className={c.flow} onPointerMove={onPointerMove}>
          <ReactFlow
            nodes={elements}
            edges={far ? NO_EDGES : edges}
            nodeTypes={NODE_TYPES}
            onNodesChange={change}
            onNodeClick={onClick}
            onSelectionChange={onSelect}
            nodesDraggable={refusal === null}
            nodesConnectable={false}
            selectNodesOnDrag={false}
            deleteKeyCode={null}
            onlyRenderVisibleElements
            minZoom={0.1}
            maxZoom={2}
            {...(viewport ? { defaultViewport: viewport } : { fitView: true, fitViewOptions: { maxZoom: 1, ...FIT } })}
          >
            <Background variant={BackgroundVariant.Dots} gap={22} size={1.2} />
            {painted === null ? null : <FarLayer nodes={painted} />}
            <Controls showInteractive={false} showFitView={false} position="bottom-left">
              <ControlButton
                title="Fit view"
                aria-label="Fit view"
                onClick={() => void fitBounds(boundsOf(nodes), FIT)}
              >
                <svg viewBox="0 0 16 16" aria-hidden="true">
                  <path d="M1 1h5v2H3v3H1zm9 0h5v5h-2V3h-3zM1 10h2v3h3v2H1zm12 0h2v5h-5v-2h3z" />
                </svg>
              </ControlButton>
            </Controls>
          </ReactFlow>
        </div>
      </FarContext>
      <div className={c.over}>
        {state === 'conflict' ? (
          <Notice tone="warn" title="Someone else changed the layout">
            <div className={u.actions}>
              <Button small onClick={() => void settle('mine')}>
                Keep my layout
              </Button>
              <Button small onClick={() => void settle('theirs')}>
                Use their layout
              </Button>
            </div>
          </Notice>
        ) : null}
        {error ? <ErrorNotice title="The layout was not saved" error={error} /> : null}
      </div>
      <span className={c.saved} role="status">
        {SAVE_TEXT[state]}
      </span>
      {open ? <ServicePanel service={open} onClose={() => setOpenId(null)} /> : null}
    </section>
  );
}

const NO_EDGES: never[] = [];
const FIT = { padding: 0.2 };

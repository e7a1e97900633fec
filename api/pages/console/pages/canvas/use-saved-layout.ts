import { type OnNodesChange, useNodesState, useReactFlow } from '@xyflow/react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, get, patch } from '../../api/api-client.js';
import { useSilence } from '../../api/api-silence.js';
import type { Canvas } from '../../api/types.js';
import { keyOf, queryClient } from '../../api/use-api.js';
import { type CanvasNode, nodesOf, positionsOf } from './layout.js';

const PATH = '/workspaces/{workspaceId}/canvas';
/** The layout is saved once no card has moved for this many milliseconds. */
const REST_MS = 500;

export type SaveState = 'saved' | 'saving' | 'unsaved' | 'conflict';

/** Shows another user's layout at once. If there are unsaved moves, the user is asked which layout to keep. */
export function useSavedLayout(workspaceId: string, canvas: Canvas) {
  const [nodes, setNodes, onNodesChange] = useNodesState<CanvasNode>(nodesOf(canvas, [], false));
  const [state, setState] = useState<SaveState>('saved');
  const [error, setError] = useState<ApiError | null>(null);
  const { getViewport } = useReactFlow<CanvasNode>();
  // React Flow's own list of nodes is not used, because it lacks most nodes in a zoomed-out view.
  const latestNodes = useRef(nodes);
  latestNodes.current = nodes;
  const revision = useRef(canvas.layout.revision);
  const drawn = useRef(canvas);
  const clean = state === 'saved';
  const silent = useSilence() !== null;

  useEffect(() => {
    if (drawn.current === canvas) return;
    drawn.current = canvas;
    const moved = clean && canvas.layout.revision > revision.current;
    if (moved) revision.current = canvas.layout.revision;
    setNodes((shown) => nodesOf(canvas, shown, moved));
  }, [canvas, clean, setNodes]);

  const save = useCallback(
    async (onRevision: number) => {
      setState('saving');
      setError(null);
      const { x, y, zoom } = getViewport();
      const viewport = { x: Math.round(x), y: Math.round(y), zoom: Math.min(4, Math.max(0.1, zoom)) };
      try {
        const positions = positionsOf(latestNodes.current);
        const answer = await patch(PATH, {
          path: { workspaceId },
          body: { revision: onRevision, positions, viewport },
        });
        revision.current = answer.layout.revision;
        queryClient.setQueryData(keyOf(PATH, { workspaceId }), answer);
        // Moves during this save have made the state `unsaved`: the next save stores them.
        setState((now) => (now === 'saving' ? 'saved' : now));
      } catch (failure) {
        if (!(failure instanceof ApiError)) throw failure;
        setState(failure.code === 'canvas_revision_conflict' ? 'conflict' : 'unsaved');
        if (failure.code !== 'canvas_revision_conflict' && failure.status !== 0) setError(failure);
      }
    },
    [workspaceId, getViewport],
  );

  // Saves again after an outage. A save that the API refused waits for the next move.
  const refused = error !== null;
  useEffect(() => {
    if (state !== 'unsaved' || silent || refused) return;
    const timer = setTimeout(() => void save(revision.current), REST_MS);
    return () => clearTimeout(timer);
  }, [state, silent, refused, save]);

  const change: OnNodesChange<CanvasNode> = useCallback(
    (changes) => {
      onNodesChange(changes);
      const placed = changes.some((one) => one.type === 'position' && one.dragging !== true && one.position);
      if (!placed) return;
      setError(null);
      setState((now) => (now === 'conflict' ? now : 'unsaved'));
    },
    [onNodesChange],
  );

  const latest = useCallback(() => get(PATH, { path: { workspaceId } }), [workspaceId]);
  /** Ends a conflict of layouts. Resolves even if the API refuses or is unreachable; the page then shows the error. */
  const settle = useCallback(
    async (keep: 'mine' | 'theirs') => {
      try {
        const theirs = await latest();
        revision.current = theirs.layout.revision;
        if (keep === 'mine') return await save(theirs.layout.revision);
        drawn.current = theirs;
        setNodes((shown) => nodesOf(theirs, shown, true));
        queryClient.setQueryData(keyOf(PATH, { workspaceId }), theirs);
        setState('saved');
      } catch (failure) {
        if (!(failure instanceof ApiError)) throw failure;
        setError(failure);
      }
    },
    [latest, save, setNodes, workspaceId],
  );

  return { nodes, change, state, error, settle };
}

import { useSyncExternalStore } from 'react';
import { useGet } from '../../api/use-api.js';
import { Loaded, Notice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { useWorkspaceId } from '../page.js';
import { NoServices, ServicesPage } from '../services/services-page.js';
import c from '../shell.module.css';
import { CanvasView } from './canvas-view.js';

const PHONE = matchMedia('(max-width: 640px)');

function usePhone(): boolean {
  return useSyncExternalStore(
    (listener) => {
      PHONE.addEventListener('change', listener);
      return () => PHONE.removeEventListener('change', listener);
    },
    () => PHONE.matches,
  );
}

/** The home page. On a phone, or if the canvas would be too large, it shows the list of services instead. */
export function CanvasPage() {
  const phone = usePhone();
  if (phone) return <ServicesPage />;
  return (
    <>
      <h1 className={u.visuallyHidden}>Canvas</h1>
      <WideCanvas />
    </>
  );
}

function WideCanvas() {
  const workspaceId = useWorkspaceId();
  const query = useGet(
    '/workspaces/{workspaceId}/canvas',
    { path: { workspaceId } },
    { working: ({ nodes }) => nodes.some(({ status }) => status === 'deploying' || status === 'deleting') },
  );
  if (query.error?.code === 'canvas_too_large') {
    return (
      <>
        <div className={c.page} style={{ paddingBottom: 0 }}>
          <Notice tone="plain">{query.error.message}. The list shows everything.</Notice>
        </div>
        <ServicesPage />
      </>
    );
  }
  return (
    <Loaded query={query} skeleton={<div className={u.skeleton} style={{ flex: 1, borderRadius: 0 }} />}>
      {(canvas) =>
        canvas.nodes.length === 0 ? (
          <NoServices workspaceId={workspaceId} />
        ) : (
          <CanvasView key={workspaceId} workspaceId={workspaceId} canvas={canvas} />
        )
      }
    </Loaded>
  );
}

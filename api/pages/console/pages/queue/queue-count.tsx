import { useGet } from '../../api/use-api.js';
import c from '../shell.module.css';

export function QueueCount({ workspaceId }: { workspaceId: string }) {
  const { data } = useGet(
    '/workspaces/{workspaceId}/deploys',
    { path: { workspaceId }, query: { active: 'true', limit: 100 } },
    { working: ({ items }) => items.length > 0 },
  );
  const count = data?.items.length ?? 0;
  return count === 0 ? null : <span className={c.badge}>{count}</span>;
}

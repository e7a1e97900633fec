import { Handle, type NodeProps, Position, useStore } from '@xyflow/react';
import { createContext, memo, useContext } from 'react';
import { sourceText } from '../../ui/source-text.js';
import { Status, serviceStatus } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import c from './canvas.module.css';
import type { GroupNode, ServiceNode } from './layout.js';

/** Below this zoom a card cannot be read, so it is a plain box. */
const READABLE_ZOOM = 0.4;

/** Called once for the whole canvas, because a call in each of 2000 cards drops frames. */
export function useFar(): boolean {
  return useStore(({ transform }) => transform[2] < READABLE_ZOOM);
}
export const FarContext = createContext(false);

export const ServiceCard = memo(function ServiceCard({ data: { service }, selected }: NodeProps<ServiceNode>) {
  const far = useContext(FarContext);
  const { tone, text } = serviceStatus(service);
  if (far) return <div className={`${c.box} ${c[tone]} ${selected ? c.selected : ''}`} />;
  return (
    <div className={`${c.card} ${selected ? c.selected : ''}`}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <strong className={u.ellipsis}>{service.name}</strong>
      <span className={`${u.ellipsis} ${u.dim}`}>{sourceText(service)}</span>
      <Status tone={tone}>{text}</Status>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});

export const GroupCard = memo(function GroupCard({ data: { name, services } }: NodeProps<GroupNode>) {
  const far = useContext(FarContext);
  if (far) return <div className={c.box} />;
  return (
    <div className={c.group}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className={u.ellipsis}>{name}</span>
      <span className={u.dim}>{services}</span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});

import { Menu as Base } from '@base-ui/react/menu';
import type { ReactNode } from 'react';
import o from './overlay.module.css';
import s from './ui.module.css';

export function Menu({
  label,
  trigger,
  small = false,
  children,
}: {
  label: string;
  trigger: ReactNode;
  small?: boolean;
  children: ReactNode;
}) {
  return (
    <Base.Root>
      <Base.Trigger aria-label={label} className={`${s.button} ${s.quiet} ${small ? s.small : ''}`}>
        {trigger}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end">
          <Base.Popup className={o.popup}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export function MenuItem({
  onClick,
  disabled = false,
  children,
}: {
  onClick: () => void;
  disabled?: boolean;
  children: ReactNode;
}) {
  return (
    <Base.Item className={o.item} onClick={onClick} disabled={disabled}>
      {children}
    </Base.Item>
  );
}

export function MenuGroup({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Base.Group>
      <Base.GroupLabel className={o.group}>{label}</Base.GroupLabel>
      {children}
    </Base.Group>
  );
}

export function MenuSeparator() {
  return <Base.Separator className={o.separator} />;
}

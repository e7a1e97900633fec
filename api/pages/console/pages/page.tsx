import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import c from './shell.module.css';

export function Page({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <div className={c.page}>
      <div className={c.head}>
        <h1>{title}</h1>
        {aside}
      </div>
      {children}
    </div>
  );
}

export function useWorkspaceId(): string {
  return useParams({ from: '/w/$workspaceId' }).workspaceId;
}

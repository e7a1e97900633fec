import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { TextField } from '../../ui/field.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { Page, useWorkspaceId } from '../page.js';
import { TemplateSources } from './template-sources.js';
import t from './templates.module.css';

export function TemplatesPage() {
  const workspaceId = useWorkspaceId();
  const [search, setSearch] = useState('');
  const query = useGet('/workspaces/{workspaceId}/templates', { path: { workspaceId } }, { poll: false });
  return (
    <Page title="Templates">
      <TextField label="Search" type="search" value={search} onChange={setSearch} />
      <Loaded query={query} skeleton={<Skeleton rows={3} height={120} />}>
        {({ templates }) => {
          const found = templates.filter((template) => matches(template, search));
          if (found.length === 0) return <Empty title={`No template matches “${search}”`} />;
          return (
            <ul className={t.gallery}>
              {found.map((template) => (
                <li key={template.name} className={`${u.card} ${t.tile}`}>
                  <span className={t.picture} aria-hidden="true">
                    {template.title.charAt(0)}
                  </span>
                  <div className={u.stack}>
                    <Link
                      className={t.title}
                      to="/w/$workspaceId/templates/$templateName"
                      params={{ workspaceId, templateName: template.name }}
                    >
                      {template.title}
                    </Link>
                    <p>{template.description}</p>
                    <p className={u.dim}>{[...template.categories, `${template.memoryMb} MiB`].join(' · ')}</p>
                  </div>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
      <TemplateSources workspaceId={workspaceId} />
    </Page>
  );
}

function matches({ title, description, categories }: Schemas['Template'], search: string): boolean {
  const text = [title, description, ...categories].join(' ').toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

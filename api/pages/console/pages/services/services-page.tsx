import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Service } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { LinkButton, OutLink } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { KIND_TEXT, sourceText } from '../../ui/source-text.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { Status, serviceStatus } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { Page, useWorkspaceId } from '../page.js';
import p from './services.module.css';

/** Maximum number of services that are drawn. The search field finds the others. */
const SHOWN = 200;

export function ServicesPage() {
  const workspaceId = useWorkspaceId();
  const [search, setSearch] = useState('');
  const query = useGet(
    '/workspaces/{workspaceId}/services',
    { path: { workspaceId } },
    { working: ({ services }) => services.some(({ status }) => status === 'deploying' || status === 'deleting') },
  );
  return (
    <Page title="Services">
      <Loaded query={query} skeleton={<Skeleton rows={5} height={58} />}>
        {({ services }) => {
          if (services.length === 0) return <NoServices workspaceId={workspaceId} />;
          const wanted = search.trim().toLowerCase();
          const found = services.filter((service) =>
            `${service.name} ${sourceText(service)} ${service.kind}`.toLowerCase().includes(wanted),
          );
          return (
            <>
              {services.length > 5 ? (
                <TextField label="Search" type="search" value={search} onChange={setSearch} />
              ) : null}
              <ul className={`${u.card} ${p.list}`}>
                {found.slice(0, SHOWN).map((service) => (
                  <Row key={service.id} workspaceId={workspaceId} service={service} />
                ))}
              </ul>
              {found.length > SHOWN ? (
                <p className={u.dim}>
                  {SHOWN} of {found.length}. Search for the others.
                </p>
              ) : null}
              {found.length === 0 ? <Empty title={`No service matches “${search}”`} /> : null}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Row({ workspaceId, service }: { workspaceId: string; service: Service }) {
  const { tone, text } = serviceStatus(service);
  return (
    <li className={p.row}>
      <div className={p.name}>
        <Link to="/w/$workspaceId/s/$serviceId" params={{ workspaceId, serviceId: service.id }}>
          {service.name}
        </Link>
        <span className={`${u.dim} ${u.ellipsis}`}>
          {KIND_TEXT[service.kind]} · {sourceText(service)}
        </span>
      </div>
      <div className={p.state}>
        <Status tone={tone}>{text}</Status>
        {service.deploymentUpdatedAt === null ? null : (
          <span className={u.dim}>
            <Ago at={service.deploymentUpdatedAt} />
          </span>
        )}
      </div>
      <div className={p.url}>
        {service.url === '' || service.archived ? null : <OutLink href={service.url}>Open</OutLink>}
      </div>
    </li>
  );
}

export function NoServices({ workspaceId }: { workspaceId: string }) {
  return (
    <Empty
      title="No services yet"
      action={
        <LinkButton look="primary" to="/w/$workspaceId/new" params={{ workspaceId }}>
          New service
        </LinkButton>
      }
    >
      A service is an application or a database. Start with the URL of a git repository: Ranvier builds it and releases
      it at a URL.
    </Empty>
  );
}

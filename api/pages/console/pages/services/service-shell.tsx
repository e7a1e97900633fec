import { Link, Outlet, useParams } from '@tanstack/react-router';
import { createContext, useContext, useEffect } from 'react';
import { useRefusal } from '../../api/session.js';
import type { Service } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { OutLink } from '../../ui/button.js';
import { isDatabase } from '../../ui/source-text.js';
import { Loaded, Notice, Skeleton } from '../../ui/states.js';
import { Status, serviceStatus } from '../../ui/status.js';
import { Tabs } from '../../ui/tabs.js';
import { Ago, Duration } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import c from '../shell.module.css';
import { DeployButton } from './deploy-button.js';
import { ServiceMenu } from './service-menu.js';
import p from './services.module.css';

const ServiceContext = createContext<Service | null>(null);

/** Returns the service whose page is shown. It is polled each second while its status changes. */
export function useService(): Service {
  const service = useContext(ServiceContext);
  if (!service) throw new Error('there is no service around this component');
  return service;
}

export function useServicePath(): { workspaceId: string; serviceId: string } {
  return useParams({ from: '/w/$workspaceId/s/$serviceId' });
}

/** Returns the reason why the user cannot change variables, domains and settings of the service; null if they can. */
export function useChangeRefusal(): string | null {
  const role = useRefusal(useServicePath().workspaceId, 'developer');
  const { status } = useService();
  return role ?? (status === 'deleting' ? 'The service is being deleted' : null);
}

/** Kinds that are built from a repository, and kinds with a public URL. */
const BUILT: readonly Service['kind'][] = ['web', 'static', 'private', 'worker', 'cron'];
const VISITED: readonly Service['kind'][] = ['web', 'static'];

const SERVICE = '/w/$workspaceId/s/$serviceId';

function pagesOf({ kind, configuration: { sourceType } }: Service, hasBackups: boolean) {
  const isBuilt = BUILT.includes(kind);
  const isVisited = VISITED.includes(kind);
  const pages = [
    { to: SERVICE, text: 'Deployments', applies: true },
    { to: `${SERVICE}/logs`, text: 'Logs', applies: true },
    { to: `${SERVICE}/runs`, text: 'Runs', applies: runsPrograms(kind) },
    { to: `${SERVICE}/volumes`, text: 'Volumes', applies: runsPrograms(kind) },
    { to: `${SERVICE}/shell`, text: 'Shell', applies: kind !== 'static' },
    { to: `${SERVICE}/metrics`, text: 'Metrics', applies: true },
    { to: `${SERVICE}/variables`, text: 'Variables', applies: true },
    { to: `${SERVICE}/backups`, text: 'Backups', applies: hasBackups },
    { to: `${SERVICE}/domains`, text: 'Domains', applies: isVisited },
    { to: `${SERVICE}/previews`, text: 'Previews', applies: isVisited },
    { to: `${SERVICE}/hooks`, text: 'Webhooks', applies: isBuilt && sourceType !== 'push' },
    { to: `${SERVICE}/settings`, text: 'Settings', applies: true },
  ] as const;
  return pages.filter(({ applies }) => applies);
}

function runsPrograms(kind: Service['kind']): boolean {
  return kind !== 'static' && BUILT.includes(kind);
}

export function ServiceShell() {
  const path = useParams({ from: '/w/$workspaceId/s/$serviceId' });
  const query = useGet(
    '/workspaces/{workspaceId}/services/{serviceId}',
    { path },
    {
      working: ({ service }) =>
        service.status === 'deploying' || service.status === 'deleting' || service.healthStatus === 'starting',
    },
  );
  const name = query.data?.service.name;
  useEffect(() => {
    if (name === undefined) return;
    const before = document.title;
    document.title = `${name} · Ranvier`;
    return () => {
      document.title = before;
    };
  }, [name]);
  if (query.error && (query.data === undefined || query.error.status === 404)) {
    return (
      <div className={c.page}>
        <h1>Service</h1>
        <Loaded query={{ ...query, data: undefined }}>{() => null}</Loaded>
      </div>
    );
  }
  return (
    <Loaded
      query={query}
      skeleton={
        <div className={c.page}>
          <Skeleton rows={1} height={72} />
          <Skeleton rows={3} height={64} />
        </div>
      }
    >
      {({ service }) => (
        <ServiceContext value={service}>
          <Header service={service} path={path} />
          <div className={c.page}>
            <Circumstances service={service} />
            <Outlet />
          </div>
        </ServiceContext>
      )}
    </Loaded>
  );
}

function Header({ service, path }: { service: Service; path: ReturnType<typeof useServicePath> }) {
  const { tone, text } = serviceStatus(service);
  const canHaveVolumes = runsPrograms(service.kind);
  const volumes = useGet(
    '/workspaces/{workspaceId}/services/{serviceId}/volumes',
    { path },
    { enabled: canHaveVolumes },
  );
  const hasBackups = canHaveVolumes ? (volumes.data?.volumes.length ?? 0) > 0 : isDatabase(service.kind);
  return (
    <div className={p.service}>
      <div className={p.serviceHead}>
        <div className={p.serviceName}>
          <h1>{service.name}</h1>
          <Status tone={tone}>{text}</Status>
          {service.url === '' || service.archived ? null : <OutLink href={service.url}>{service.url}</OutLink>}
        </div>
        <div className={u.actions}>
          <DeployButton workspaceId={path.workspaceId} service={service} primary />
          <ServiceMenu service={service} path={path} />
        </div>
      </div>
      <Tabs className={p.tabs} label={`Pages of ${service.name}`}>
        {pagesOf(service, hasBackups).map(({ to, text }) => (
          <Link key={to} to={to} params={path} activeOptions={{ exact: to === SERVICE }}>
            {text}
          </Link>
        ))}
      </Tabs>
    </div>
  );
}

function Circumstances({ service }: { service: Service }) {
  if (service.status === 'deleting') {
    return (
      <Notice tone="warn" title="This service is being deleted">
        Its replicas stop first, then its data is removed.
      </Notice>
    );
  }
  if (service.archived) {
    return (
      <Notice tone="plain" title="This service is archived">
        It cannot be deployed. Running replicas keep running. Restore it in the menu next to Deploy.
      </Notice>
    );
  }
  if (service.lifecycleStatus === 'suspended') {
    return (
      <Notice tone="plain" title="This service is suspended">
        It has no replicas. Resume it in the menu next to Deploy.
      </Notice>
    );
  }
  if (service.asleepSince !== undefined) {
    return (
      <Notice tone="plain" title={service.frozen ? 'This service sleeps, frozen' : 'This service sleeps'}>
        It fell asleep <Ago at={service.asleepSince} />, because nobody visited it.{' '}
        {service.frozen
          ? 'Its replicas keep their memory, and the next request wakes them at once.'
          : 'The next request starts it.'}
      </Notice>
    );
  }
  if (service.healthStatus === 'unhealthy') {
    return (
      <Notice tone="bad" title="The service is unhealthy">
        {service.runtimeDetail}
      </Notice>
    );
  }
  if (service.lastSleep !== undefined) {
    const { from, until } = service.lastSleep;
    return (
      <p className={u.dim}>
        A request woke this service <Ago at={until} />. It had slept for <Duration from={from} to={until} />.
      </p>
    );
  }
  return null;
}

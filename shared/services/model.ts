export const SERVICE_KINDS = ['web', 'static', 'private', 'worker', 'cron', 'postgres', 'redis'] as const;
export type ServiceKind = (typeof SERVICE_KINDS)[number];

export const LIFECYCLE_STATUSES = ['draft', 'active', 'suspended', 'deleting', 'deleted'] as const;
export type LifecycleStatus = (typeof LIFECYCLE_STATUSES)[number];

export const SERVICE_STATUSES = ['not_deployed', 'deploying', 'live', 'failed', 'suspended', 'deleting'] as const;
export type ServiceStatus = (typeof SERVICE_STATUSES)[number];

export const HEALTH_STATUSES = ['unknown', 'starting', 'ready', 'unhealthy'] as const;
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

/** Returns true for kinds that receive requests through the edge at a public URL. */
export function isRouted(kind: ServiceKind): boolean {
  return kind === 'web' || kind === 'static';
}

/** Returns true for kinds whose processes listen on PORT and are probed there. */
export function listensOnPort(kind: ServiceKind): boolean {
  return kind === 'web' || kind === 'private';
}

/** Returns true for kinds that can have several replicas. */
export function isScalable(kind: ServiceKind): boolean {
  return kind === 'web' || kind === 'private' || kind === 'worker';
}

const DATA_KINDS = ['postgres', 'redis'] as const satisfies readonly ServiceKind[];
export type DataKind = (typeof DATA_KINDS)[number];

export function isDataKind(kind: ServiceKind): kind is DataKind {
  return kind === 'postgres' || kind === 'redis';
}

/**
 * Returns a second host name by which services in the same environment reach this one; '' if none. The host name is the
 * service's name in lower case. It differs from the slug if, for example, another workspace has this name as a slug.
 */
export function aliasOf({ name, slug }: { name: string; slug: string }): string {
  const alias = name.toLowerCase();
  const isHost = /^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$/.test(alias) && !/local|loopback/.test(alias);
  return isHost && alias !== slug ? alias : '';
}

/** Returns the DNS label for a service's name. `suffix` makes it unique if the plain label is taken. */
export function slugOf(name: string, suffix = ''): string {
  const label = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  const base = label === '' ? 'service' : label;
  return suffix === '' ? base : `${base}-${suffix}`;
}

import type { Static } from 'typebox';
import { updateServiceDirectly } from '../../../shared/lifecycle/update-service.js';
import { findServiceView, type ServiceView } from '../../../shared/services/store.js';
import type { DirectRequest } from '../../http/route.js';
import { presentService } from './present.js';
import type { ServicePresentation, UpdateServiceBody } from './schema.js';

type Patch = DirectRequest<'/workspaces/:workspaceId/services/:serviceId', object, Static<typeof UpdateServiceBody>>;

/** Service id → the latest change that this process is making to the service. The next change waits for it. */
const underWay = new Map<string, Promise<ServiceView | undefined>>();

/**
 * Changes a service with one statement, or returns null if a transaction is needed. Within this process, changes to one
 * service run one after another, without a database lock.
 */
export async function patchDirectly(request: Patch): Promise<{ service: ServicePresentation } | null> {
  const { body, found, deps } = request;
  const service = found?.service;
  if (service === undefined || service.deleted_at !== null) return null;
  if (body.projectId !== undefined || body.environmentId !== undefined) return null;
  const before = underWay.get(service.id);
  const change = changeAfter(request, service, before);
  underWay.set(service.id, change);
  try {
    const written = await change;
    return written === undefined ? null : { service: presentService(written, deps.config) };
  } finally {
    if (underWay.get(service.id) === change) underWay.delete(service.id);
  }
}

async function changeAfter(
  { body, db, deps, params, authorize, audit }: Patch,
  read: ServiceView,
  before: Promise<ServiceView | undefined> | undefined,
): Promise<ServiceView | undefined> {
  // The result of the previous change in this process is newer than this request's own read.
  const newest = (await before?.catch(() => undefined)) ?? read;
  const input = { name: body.name, kind: body.kind, configuration: body.configuration, authorize };
  const change = (service: ServiceView) =>
    updateServiceDirectly(db, deps, { ...input, service, audit: (changed) => audit({ service: changed }) });
  const written = await change(newest);
  if (written !== undefined) return written;
  // Another process may have changed the service since our read, so it is read again.
  const now = await findServiceView(db, params.workspaceId, params.serviceId);
  return now && change(now);
}

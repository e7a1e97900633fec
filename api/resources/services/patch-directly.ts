import type { Static } from 'typebox';
import { findServiceView, type ServiceView } from '../../../shared/services/store.js';
import type { DirectRequest } from '../../http/route.js';
import { presentService } from './present.js';
import type { ServicePresentation, UpdateServiceBody } from './schema.js';
import { updateServiceDirectly } from './update-service.js';

type Patch = DirectRequest<'/workspaces/:workspaceId/services/:serviceId', object, Static<typeof UpdateServiceBody>>;

/** Service's id → the newest change that this process has not finished. */
const underWay = new Map<string, Promise<ServiceView | undefined>>();

/**
 * Changes a service in one statement if only its row changes. Returns null if the request needs the transaction.
 * Within this process, changes of one service follow one another without a lock in the database: each starts from its
 * predecessor's result.
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
  // The previous change may have written after this request was read.
  const newest = (await before?.catch(() => undefined)) ?? read;
  const input = { name: body.name, kind: body.kind, configuration: body.configuration, authorize };
  const change = (service: ServiceView) =>
    updateServiceDirectly(db, deps, { ...input, service, audit: (changed) => audit({ service: changed }) });
  const written = await change(newest);
  if (written !== undefined) return written;
  // Another process, or a transaction of this one, may have changed the service.
  const now = await findServiceView(db, params.workspaceId, params.serviceId);
  return now && change(now);
}

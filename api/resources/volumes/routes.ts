import { findVolume, listVolumes } from '../../../shared/volumes/store.js';
import { assertConfirmed, found } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { ConfirmBody, DeletedResponse } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { addVolume, deleteVolume, growVolume } from './commands.js';
import { presentVolume } from './present.js';
import { CreateVolumeBody, ResizeVolumeBody, VolumeListResponse, VolumeResponse } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/volumes';
const ONE = '/workspaces/:workspaceId/services/:serviceId/volumes/:volumeId';

/** The volumes of a service: folders that outlive its releases. */
export const volumeRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'volume.list',
    summary: 'List volumes',
    description: 'The volumes of a service, oldest first: at most five.',
    response: VolumeListResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return { volumes: (await listVolumes(request.db, id)).map(presentVolume) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'volume.create',
    summary: 'Create a volume',
    description:
      'The next release mounts it at mountPath. All volumes of a service together have at most the storageGb of its plan, and a service with a volume runs one replica.',
    body: CreateVolumeBody,
    example: { name: 'uploads', mountPath: '/data', sizeGb: 1 },
    errors: ['conflict', 'capacity_exceeded', 'volume_single_replica'],
    status: 201,
    response: VolumeResponse,
    handler: async (request) => {
      const service = await lockService(request);
      return { volume: presentVolume(await addVolume(request.trx, service, request.body)) };
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: ONE,
    operation: 'volume.update',
    summary: 'Grow a volume',
    description: 'Makes it larger while it is in use. It never becomes smaller.',
    body: ResizeVolumeBody,
    example: { sizeGb: 5 },
    errors: ['conflict', 'capacity_exceeded'],
    response: VolumeResponse,
    handler: async (request) => {
      const service = await lockService(request);
      const { params, body } = request;
      return { volume: presentVolume(await growVolume(request.trx, service, params.volumeId, body.sizeGb)) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'volume.delete',
    summary: 'Delete a volume',
    description:
      'Deletes the volume with its content, for good. confirm is its name. If the service runs with it, suspend the service first.',
    body: ConfirmBody,
    errors: ['volume_in_use'],
    response: DeletedResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      const volume = found(await findVolume(request.trx, id, request.params.volumeId));
      assertConfirmed(request.body.confirm, volume);
      await deleteVolume(request.trx, volume);
      return { deleted: true } as const;
    },
  }),
];

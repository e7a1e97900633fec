import { addVolume, deleteVolume, growVolume } from '../../../shared/volumes/commands.js';
import { findVolume, listVolumes } from '../../../shared/volumes/store.js';
import { assertConfirmed, found } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { ConfirmBody, DeletedResponse } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { presentVolume } from './present.js';
import { CreateVolumeBody, ResizeVolumeBody, VolumeListResponse, VolumeResponse } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/volumes';
const ONE = '/workspaces/:workspaceId/services/:serviceId/volumes/:volumeId';

/** Volumes of a service: folders whose content outlives a release. */
export const volumeRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'volume.list',
    summary: 'List volumes',
    description: 'The volumes of a service, at most five, oldest first.',
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
      'Creates a volume that the next release mounts at mountPath. A service with a volume runs one replica, and its volumes together have at most the storageGb of its plan.',
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
    description: 'Makes a volume larger, even while it is in use. A volume cannot shrink.',
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
      'Deletes a volume and its content permanently. confirm is the name of the volume. If a running service uses the volume, suspend the service first.',
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

import { type Static, Type } from 'typebox';
import { addVolume, deleteVolume, growVolume } from '../../../shared/volumes/commands.js';
import { VOLUME_FIELDS } from '../../../shared/volumes/model.js';
import { findVolume, listVolumes, type VolumeView } from '../../../shared/volumes/store.js';
import { assertConfirmed, found } from '../../http/assertions.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { ConfirmBody, DeletedResponse, Nullable, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';

const VolumeSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    mountPath: Type.String(),
    sizeGb: VOLUME_FIELDS.sizeGb,
    usedBytes: Type.Integer({
      minimum: 0,
      description: 'Bytes in use at the last measurement; 0 before the first release, and in a swarm',
    }),
    host: Nullable(
      Type.String({
        description: 'The host or the node of a swarm that has the volume; null before the first release',
      }),
    ),
    createdAt: Timestamp,
  },
  'Volume',
);
export type VolumePresentation = Static<typeof VolumeSchema>;
const presentVolume = (row: VolumeView) => present(VolumeSchema, row);

const CreateVolumeBody = Strict(VOLUME_FIELDS);
const ResizeVolumeBody = Strict({ sizeGb: VOLUME_FIELDS.sizeGb });

const VolumeResponse = Strict({ volume: VolumeSchema });
const VolumeListResponse = Strict({ volumes: Type.Array(VolumeSchema) });

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/volumes';
const ONE = '/workspaces/:workspaceId/services/:serviceId/volumes/:volumeId';

export const volumeRoutes = [
  defineRoute('GET', COLLECTION, 'volume.list', {
    summary: 'List volumes',
    description: 'The volumes of a service, at most five, oldest first.',
    response: VolumeListResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return { volumes: (await listVolumes(request.db, id)).map(presentVolume) };
    },
  }),
  defineRoute('POST', COLLECTION, 'volume.create', {
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
  defineRoute('PATCH', ONE, 'volume.update', {
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
  defineRoute('DELETE', ONE, 'volume.delete', {
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

import { type Static, Type } from 'typebox';
import { VOLUME_FIELDS } from '../../../shared/volumes/model.js';
import { Nullable, Strict, Timestamp, Uuid } from '../../http/schema.js';

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

export const CreateVolumeBody = Strict(VOLUME_FIELDS);
export const ResizeVolumeBody = Strict({ sizeGb: VOLUME_FIELDS.sizeGb });

export const VolumeResponse = Strict({ volume: VolumeSchema });
export const VolumeListResponse = Strict({ volumes: Type.Array(VolumeSchema) });

import { type Static, Type } from 'typebox';
import { plainLine } from '../../../shared/core/plain-text.js';
import { MAX_MOUNT_PATH_LENGTH } from '../../../shared/volumes/model.js';
import { Nullable, Strict, Timestamp, Uuid } from '../../http/schema.js';

const SizeGb = Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'In GB of 1,000,000,000 bytes' });

const VolumeSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    mountPath: Type.String(),
    sizeGb: SizeGb,
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

export const CreateVolumeBody = Strict({
  name: Type.String({
    maxLength: 63,
    pattern: '^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$',
    description: 'lower-case letters, digits and -, with a letter or a digit at its start and its end',
  }),
  mountPath: plainLine(MAX_MOUNT_PATH_LENGTH, {
    minLength: 1,
    description: 'one line without control characters: an absolute path without .. that hides no folder of the system',
  }),
  sizeGb: SizeGb,
});
export const ResizeVolumeBody = Strict({ sizeGb: SizeGb });

export const VolumeResponse = Strict({ volume: VolumeSchema });
export const VolumeListResponse = Strict({ volumes: Type.Array(VolumeSchema) });

import type { VolumeView } from '../../../shared/volumes/store.js';
import type { VolumePresentation } from './schema.js';

export function presentVolume(row: VolumeView): VolumePresentation {
  return {
    id: row.id,
    name: row.name,
    mountPath: row.mount_path,
    sizeGb: row.size_gb,
    usedBytes: row.used_bytes,
    host: row.host,
    createdAt: row.created_at.toISOString(),
  };
}

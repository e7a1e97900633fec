import type { Db } from '../../../shared/core/database/database-client.js';
import { isDataKind } from '../../../shared/services/model.js';
import type { VolumeRow } from '../../../shared/volumes/model.js';
import { listVolumes } from '../../../shared/volumes/store.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { isHeld } from '../../volumes/holds.js';
import { settleNode } from '../../volumes/volume-store.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { SERVER_GRACE_SECONDS, volumeName } from './server-service.js';
import { LABELS, NANOSECONDS, type replicaService, type SwarmContext } from './service-spec.js';
import type { SwarmView } from './swarm-view.js';
import { leastBusyNode, onNode } from './task-placement.js';

export interface NodeVolumes {
  serviceId: string;
  nodeId: string;
  volumes: readonly Pick<VolumeRow, 'id' | 'mount_path'>[];
}

/**
 * Returns the volumes that a replica or a run's attempt mounts, and their node; null for none. The volumes get their
 * node when they are first mounted, and keep it. Throws `ReleaseError` while an operation, such as a restore, works on
 * the volumes.
 */
export async function volumesToMount(
  db: Db,
  view: SwarmView,
  row: Pick<ReplicaRow, 'service_id' | 'run_id' | 'volume_id'>,
  { kind, configuration, image }: Pick<ReleaseSpec, 'kind' | 'configuration' | 'image'>,
): Promise<NodeVolumes | null> {
  // A database's volume is mounted elsewhere. A replica without `volume_id` is older than the service's volumes.
  if (isDataKind(kind) || (row.run_id === null && row.volume_id === null)) return null;
  const serviceId = row.service_id;
  const volumes = await listVolumes(db, serviceId);
  if (volumes.length === 0) return null;
  if (await isHeld(db, serviceId)) throw new ReleaseError('somebody works on its volumes');
  const node = leastBusyNode(view, configuration.region);
  const preferred = node === undefined ? null : { id: node.ID, name: node.Description.Hostname };
  const nodeId = await settleNode(db, serviceId, preferred, image.manifest.reference ?? '');
  if (nodeId === null) throw new Error(`no node of the region "${configuration.region}" takes tasks`);
  return { serviceId, nodeId, volumes };
}

/** Returns the Swarm service with mounts for the volumes, on the node that stores them. */
export function withVolumes(
  service: ReturnType<typeof replicaService>,
  { serviceId, nodeId, volumes }: NodeVolumes,
  { installation, stopGraceSeconds }: SwarmContext,
) {
  const { TaskTemplate } = service;
  const Labels = { [LABELS.installation]: installation, [LABELS.service]: serviceId };
  const Mounts = volumes.map(({ id, mount_path: Target }) => ({
    Type: 'volume' as const,
    Source: volumeName(id),
    Target,
    // Docker fills a new volume with the image's files at that path, including their owner.
    VolumeOptions: { Labels, DriverConfig: { Name: 'local', Options: {} } },
  }));
  return {
    ...service,
    Labels: { ...service.Labels, [LABELS.volume]: serviceId },
    TaskTemplate: {
      ...TaskTemplate,
      ContainerSpec: {
        ...TaskTemplate.ContainerSpec,
        Mounts,
        StopGracePeriod: Math.max(stopGraceSeconds, SERVER_GRACE_SECONDS) * NANOSECONDS,
      },
      Placement: { Constraints: [onNode(nodeId)] },
    },
  };
}

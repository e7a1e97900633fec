import { Type } from 'typebox';
import { plainLine } from '../core/plain-text.js';
import type { ServiceKind } from '../services/model.js';

/** A folder of a service that outlives its releases (design, section 8). */
export interface VolumeRow {
  id: string;
  service_id: string;
  name: string;
  mount_path: string;
  size_gb: number;
  host_id: string | null;
  /** The swarm node that has the volume; null if the host is not a swarm. */
  node_id: string | null;
  node_name: string | null;
  node_image: string | null;
  used_bytes: number;
  measured_at: Date | null;
  storage_state: VolumeState;
  removed_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** The service of a `full` volume is stopped (`workers/volumes/volume-state.ts`). */
type VolumeState = 'open' | 'nearly_full' | 'full';

/** Kinds of services that can have volumes: those that run the tenant's own processes. */
export const VOLUME_KINDS: readonly ServiceKind[] = ['web', 'private', 'worker', 'cron'];
export const MAX_VOLUMES = 5;
const MAX_MOUNT_PATH_LENGTH = 512;

export const VOLUME_FIELDS = {
  name: Type.String({
    maxLength: 63,
    pattern: '^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$',
    description: 'lower-case letters, digits and -, with a letter or a digit at its start and its end',
  }),
  mountPath: plainLine(MAX_MOUNT_PATH_LENGTH, {
    minLength: 1,
    description: 'one line without control characters: an absolute path without .. that hides no folder of the system',
  }),
  sizeGb: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'In GB of 1,000,000,000 bytes' }),
};

/** System folders. Volumes may not be mounted at or below them. */
const SYSTEM = [
  ...['/etc', '/proc', '/sys', '/dev', '/usr', '/bin', '/sbin', '/lib', '/lib64', '/boot', '/run', '/var/run'],
];
/** The platform's own folders. No volume may be mounted there, nor anywhere below a folder in `OWN_BELOW`. */
const OWN = ['/', '/mnt', '/mnt/app', '/.init', '/.bin'];
const OWN_BELOW = ['/mnt/home', '/mnt/tools'];

/** Returns why a volume may not be mounted at a path, or null. `others` are the service's other mount paths. */
export function mountPathProblem(path: string, others: readonly string[]): string | null {
  if (!path.startsWith('/')) return 'is not absolute';
  const parts = path.split('/').slice(1);
  if (path !== '/' && parts.some((part) => ['', '.', '..'].includes(part))) {
    return 'has an empty part, . or ..';
  }
  const hides = SYSTEM.find((folder) => isBelow(path, folder));
  if (hides !== undefined) return `is in ${hides}, which belongs to the system`;
  if (OWN.includes(path) || /^\/mnt\/node\d*(\/|$)/.test(path) || OWN_BELOW.some((folder) => isBelow(path, folder))) {
    return 'is a folder that the platform needs';
  }
  const near = others.find((other) => other !== path && (isBelow(path, other) || isBelow(other, path)));
  return near === undefined ? null : `and ${near} are one inside the other`;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

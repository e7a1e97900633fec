import { createHash } from 'node:crypto';
import { redisConfiguration } from '../../../shared/data/model.js';
import type { DataServerRow } from '../../../shared/data/store.js';
import type { DataKind } from '../../../shared/services/model.js';
import { limitsOf } from '../../../shared/services/plan-catalog.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { AGENT_PORT, agentScript } from './agent-script.js';
import { postgresScript, redisScript, SERVER_USER, VOLUME, volumeScript } from './server-scripts.js';
import { describeService, LABELS, MEGABYTE, NANOSECONDS, replicaService, type SwarmContext } from './service-spec.js';
import { onNode } from './task-placement.js';

/** How long a process with a volume may take to write its data to the disk before it is killed. */
export const SERVER_GRACE_SECONDS = 30;
const WORK_GRACE_NS = 2 * 10 ** 9;
const WORK_MEMORY_MB = 256;

export interface DataRelease extends ReleaseSpec {
  kind: DataKind;
}

/** Returns the name of a Docker volume. The volume of a database has the id of its service. */
export function volumeName(id: string): string {
  return `ranvier-${id}`;
}

function volumeMount(serviceId: string, { installation }: SwarmContext) {
  const Labels = { [LABELS.installation]: installation, [LABELS.service]: serviceId };
  const VolumeOptions = { NoCopy: true, Labels, DriverConfig: { Name: 'local', Options: {} } };
  return { Type: 'volume' as const, Source: volumeName(serviceId), Target: VOLUME, VolumeOptions };
}

type ServerRow = Pick<DataServerRow, 'version' | 'node_id'>;

export function serverService(
  spec: DataRelease,
  replicaId: string,
  row: ServerRow,
  passwords: { user: string; admin: string },
  context: SwarmContext,
) {
  const { plan: planId, evictionPolicy } = spec.configuration;
  const isPostgres = spec.kind === 'postgres';
  const script = isPostgres
    ? postgresScript(spec.serviceId, { planId, version: row.version })
    : redisScript(spec.serviceId);
  const environment = isPostgres
    ? [`ADMIN_PASSWORD=${passwords.admin}`, 'LC_ALL=C']
    : [`CONFIGURATION=${configurationOf({ planId, evictionPolicy }, passwords)}`];
  const service = replicaService({ ...spec, environment: {} }, replicaId, context);
  // For parallel queries, PostgreSQL needs more than Docker's default of 64 MB.
  const SizeBytes = Math.floor(limitsOf(spec.kind, planId).memoryMb / 4) * MEGABYTE;
  const shared = { Type: 'tmpfs', Source: '', Target: '/dev/shm', TmpfsOptions: { SizeBytes, Mode: 0o1777 } } as const;
  return {
    ...service,
    Labels: { ...service.Labels, [LABELS.volume]: spec.serviceId },
    TaskTemplate: {
      ...service.TaskTemplate,
      ContainerSpec: {
        ...service.TaskTemplate.ContainerSpec,
        Command: ['/bin/sh', '-c', script],
        Env: environment,
        User: SERVER_USER[spec.kind],
        CapabilityDrop: ['ALL'],
        Mounts: [volumeMount(spec.serviceId, context), shared],
        ...(isPostgres ? { StopSignal: 'SIGINT' } : {}),
        StopGracePeriod: Math.max(context.stopGraceSeconds, SERVER_GRACE_SECONDS) * NANOSECONDS,
      },
      Placement: { Constraints: [onNode(row.node_id ?? '')] },
    },
  };
}

function configurationOf(
  { planId, evictionPolicy }: { planId: string; evictionPolicy: string },
  { user, admin }: { user: string; admin: string },
): string {
  const hash = (password: string) => createHash('sha256').update(password).digest('hex');
  return redisConfiguration({
    planId,
    evictionPolicy,
    folder: `${VOLUME}/data`,
    port: 6379,
    bind: '0.0.0.0',
    passwordHash: hash(user),
    adminHash: hash(admin),
  });
}

/** Returns the Swarm service for a task that prepares a volume, on a node with room for the server. */
export function volumeService(spec: DataRelease, name: string, context: SwarmContext) {
  return workService(spec, { name, command: volumeScript(spec.kind, spec.serviceId) }, context);
}

/** Returns the Swarm service for an agent, which gives callers with `token` access to a volume's files. */
export function agentService(
  spec: DataRelease,
  name: string,
  { nodeId, token }: { nodeId: string; token: string },
  context: SwarmContext,
) {
  const user = SERVER_USER[spec.kind];
  const work = { name, command: agentScript(), nodeId, user, port: AGENT_PORT, environment: { TOKEN: token } };
  return workService(spec, work, context);
}

interface VolumeWork {
  name: string;
  command: string;
  /** If absent, Swarm chooses a node of the region with room for the database server. */
  nodeId?: string;
  /** Root if absent. */
  user?: string;
  port?: number;
  environment?: Record<string, string>;
}

/** Returns the Swarm service for a task that works on the files of a volume. */
export function workService(spec: ReleaseSpec, work: VolumeWork, context: SwarmContext) {
  const { name, command, nodeId, user = '0', port = null, environment = {} } = work;
  const labels = { [LABELS.command]: spec.deploymentId, [LABELS.volume]: spec.serviceId };
  const service = describeService({ ...spec, environment }, context, { name, labels, command, port });
  return {
    ...service,
    TaskTemplate: {
      ...service.TaskTemplate,
      ContainerSpec: {
        ...service.TaskTemplate.ContainerSpec,
        User: user,
        Mounts: [volumeMount(spec.serviceId, context)],
        // The shell of an agent ignores SIGTERM, and its work can be interrupted without harm.
        StopGracePeriod: WORK_GRACE_NS,
      },
      ...(nodeId === undefined
        ? {}
        : {
            // The database server may have reserved all memory of this node, so the task reserves none.
            Resources: { Limits: { MemoryBytes: WORK_MEMORY_MB * MEGABYTE } },
            Placement: { Constraints: [onNode(nodeId)] },
          }),
      // The task gets no alias, because only the database server may be reachable under the service's name.
      Networks: [{ Target: context.network }],
    },
  };
}

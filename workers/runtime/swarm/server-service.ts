import { createHash } from 'node:crypto';
import type { CreateServiceOptions } from 'dockerode';
import { redisConfiguration } from '../../../shared/data/model.js';
import type { DataServerRow } from '../../../shared/data/store.js';
import { limitsOf } from '../../../shared/services/catalog.js';
import type { DataKind } from '../../../shared/services/model.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { AGENT_PORT, agentScript } from './agent-script.js';
import { emptyScript, postgresScript, redisScript, SERVER_USER, VOLUME, volumeScript } from './server-scripts.js';
import { baseService, LABELS, MEGABYTE, NANOSECONDS, replicaService, type SwarmContext } from './service-spec.js';
import { onNode } from './task-placement.js';

/** The least time that a server has to stop, in seconds: it writes its data. */
const SERVER_GRACE_SECONDS = 30;
/** How long work on a volume's files may take to end, in nanoseconds. */
const WORK_GRACE_NS = 2 * 10 ** 9;
/** The memory of work on a volume's files. */
const WORK_MEMORY_MB = 256;

export interface DataRelease extends ReleaseSpec {
  kind: DataKind;
}

/** The name of a service's volume, on the node that has it. */
export function volumeName(serviceId: string): string {
  return `ranvier-${serviceId}`;
}

function volumeMount(serviceId: string, { installation }: SwarmContext) {
  const Labels = { [LABELS.installation]: installation, [LABELS.service]: serviceId };
  const VolumeOptions = { NoCopy: true, Labels, DriverConfig: { Name: 'local', Options: {} } };
  return { Type: 'volume' as const, Source: volumeName(serviceId), Target: VOLUME, VolumeOptions };
}

type ServerRow = Pick<DataServerRow, 'version' | 'node_id'>;

/** The Swarm service of a data service's server: it runs on the node that has the volume, and nowhere else. */
export function serverService(
  spec: DataRelease,
  replicaId: string,
  row: ServerRow,
  passwords: { user: string; admin: string },
  context: SwarmContext,
): CreateServiceOptions {
  const { plan: planId, evictionPolicy } = spec.configuration;
  const isPostgres = spec.kind === 'postgres';
  const script = isPostgres
    ? postgresScript(spec.serviceId, { planId, version: row.version })
    : redisScript(spec.serviceId);
  const environment = isPostgres
    ? [`ADMIN_PASSWORD=${passwords.admin}`, 'LC_ALL=C']
    : [`CONFIGURATION=${configurationOf({ planId, evictionPolicy }, passwords)}`];
  const service = replicaService({ ...spec, environment: {} }, replicaId, context, []);
  const SizeBytes = sharedMemoryBytes(spec);
  const shared = { Type: 'tmpfs' as const, Source: '', Target: '/dev/shm', TmpfsOptions: { SizeBytes, Mode: 0o1777 } };
  return {
    ...service,
    Labels: { ...service.Labels, [LABELS.volume]: spec.serviceId },
    TaskTemplate: {
      ...service.TaskTemplate,
      ContainerSpec: {
        ...containerOf(service),
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
  } as CreateServiceOptions;
}

/** PostgreSQL needs more than Docker's 64 MB for parallel queries. */
function sharedMemoryBytes(spec: DataRelease): number {
  return Math.floor(limitsOf(spec.kind, spec.configuration.plan).memoryMb / 4) * MEGABYTE;
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

/** The task that prepares a new volume, on any node of the service's region that has room for the server. */
export function volumeService(spec: DataRelease, name: string, context: SwarmContext): CreateServiceOptions {
  const script = volumeScript(spec.kind, spec.serviceId);
  return workService(spec, { name, script, user: '0', constraints: null, port: null, environment: [] }, context);
}

/** The task that empties the volume of a deleted service. */
export function emptyService(spec: ReleaseSpec, name: string, nodeId: string, context: SwarmContext) {
  const work = { name, script: emptyScript(), user: '0', constraints: [onNode(nodeId)], port: null, environment: [] };
  return workService(spec, work, context);
}

/** The task that works on the files of a volume as the server's user; `token` opens it. */
export function agentService(
  spec: DataRelease,
  name: string,
  { nodeId, token }: { nodeId: string; token: string },
  context: SwarmContext,
): CreateServiceOptions {
  const work = {
    name,
    script: agentScript(),
    user: SERVER_USER[spec.kind],
    constraints: [onNode(nodeId)],
    port: AGENT_PORT,
    environment: [`TOKEN=${token}`],
  };
  return workService(spec, work, context);
}

interface VolumeWork {
  name: string;
  script: string;
  user: string;
  /** Null for any node of the region with room for the server. */
  constraints: string[] | null;
  port: number | null;
  environment: string[];
}

function workService(spec: ReleaseSpec, work: VolumeWork, context: SwarmContext): CreateServiceOptions {
  const purpose = { [LABELS.command]: spec.deploymentId, [LABELS.volume]: spec.serviceId };
  const base = baseService({ ...spec, environment: {} }, context, purpose);
  const anywhere = work.constraints === null;
  return {
    ...base,
    Name: work.name,
    TaskTemplate: {
      ...base.TaskTemplate,
      ContainerSpec: {
        ...base.TaskTemplate.ContainerSpec,
        Command: ['/bin/sh', '-c', work.script],
        Env: work.environment,
        User: work.user,
        Mounts: [volumeMount(spec.serviceId, context)],
        // The shell of an agent ignores TERM, and nothing of this work is worth waiting for.
        StopGracePeriod: WORK_GRACE_NS,
      },
      // Beside the server, it must not need room that the node does not have.
      Resources: anywhere ? base.TaskTemplate.Resources : { Limits: { MemoryBytes: WORK_MEMORY_MB * MEGABYTE } },
      Placement: work.constraints === null ? base.TaskTemplate.Placement : { Constraints: work.constraints },
      // Only the server has the name of the service in the network.
      Networks: [{ Target: context.network }],
      RestartPolicy: { Condition: 'none', MaxAttempts: 0 },
    },
    EndpointSpec: {
      Mode: 'dnsrr',
      ...(work.port === null ? {} : { Ports: [{ Protocol: 'tcp', TargetPort: work.port, PublishMode: 'host' }] }),
    },
  } as CreateServiceOptions;
}

function containerOf(service: CreateServiceOptions): object {
  return (service.TaskTemplate as { ContainerSpec?: object } | undefined)?.ContainerSpec ?? {};
}

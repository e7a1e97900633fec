import type { CreateServiceOptions } from 'dockerode';
import { portOf } from '../../../shared/data/model.js';
import { isDataKind, listensOnPort } from '../../../shared/services/model.js';
import { limitsOf } from '../../../shared/services/plan-catalog.js';
import type { ReleaseSpec } from '../runtime-driver.js';

/** The platform changes only Docker objects with the label of its own installation. */
export const LABELS = {
  installation: 'ranvier.installation',
  service: 'ranvier.service',
  deployment: 'ranvier.deployment',
  replica: 'ranvier.replica',
  command: 'ranvier.command',
  network: 'ranvier.network',
  volume: 'ranvier.volume',
} as const;

export const NANOSECONDS = 1e9;
export const MEGABYTE = 1024 * 1024;
export const RESTART_DELAY_MS = 2_000;
/**
 * Share of a plan's CPU that is reserved on a node. It is small, because other tasks can use idle CPU time. Memory is
 * reserved in full, because used memory cannot be taken back.
 */
const RESERVED_CPU = 0.25;
/** With these capabilities a task could forge packets and create devices, which no application needs. */
const DROPPED_CAPABILITIES = ['CAP_NET_RAW', 'CAP_MKNOD'];
const RUN_ONCE = { Condition: 'none', MaxAttempts: 0 };
const LOG_OPTIONS = { 'max-size': '10m', 'max-file': '3' };

export interface SwarmContext {
  installation: string;
  network: string;
  stopGraceSeconds: number;
}

/**
 * Returns the Swarm service for one replica. If a replica were a task of a larger service, Swarm would choose which
 * task to stop on scaling down, even one to which an edge still sends requests.
 */
export function replicaService(
  spec: ReleaseSpec,
  replicaId: string,
  context: SwarmContext,
  constraints: readonly string[] = [],
) {
  return describeService(spec, context, {
    name: `${spec.slug.slice(0, 50)}-${replicaId.slice(-12)}`,
    labels: { [LABELS.replica]: replicaId },
    command: spec.image.manifest.startCommand,
    args: spec.configuration.startArguments,
    port: containerPort(spec),
    isRestarted: true,
    constraints,
  });
}

/** Returns the Swarm service for one attempt of a run. It publishes no port, and is not restarted. */
export function attemptService(spec: ReleaseSpec, replicaId: string, runId: string, context: SwarmContext) {
  const environment = { ...spec.environment, RANVIER_RUN_ID: runId };
  const service = replicaService({ ...spec, kind: 'worker', environment }, replicaId, context);
  const Networks = [{ Target: context.network, Aliases: [] }];
  return { ...service, TaskTemplate: { ...service.TaskTemplate, Networks, RestartPolicy: RUN_ONCE } };
}

/** Returns the port on which the container listens; null for none. */
export function containerPort({ kind, configuration }: Pick<ReleaseSpec, 'kind' | 'configuration'>): number | null {
  if (isDataKind(kind)) return portOf(kind);
  return listensOnPort(kind) ? configuration.port : null;
}

export interface ServiceOptions {
  name: string;
  labels: Record<string, string>;
  /** A shell command line; '' for the image's own command. */
  command: string;
  /** Arguments that replace the image's CMD if `command` is ''. If empty or absent, the CMD stays. */
  args?: readonly string[];
  /** The container's port to publish on the node. */
  port?: number | null;
  /** True if Swarm replaces an ended task. */
  isRestarted?: boolean;
  constraints?: readonly string[];
}

/** Returns a Swarm service with the image, environment, limits and network of a release. */
export function describeService(spec: ReleaseSpec, context: SwarmContext, options: ServiceOptions) {
  const { configuration, image } = spec;
  const { command, args = [], port = null, isRestarted = false, constraints = [] } = options;
  const { memoryMb, cpu, pids } = limitsOf(spec.kind, configuration.plan);
  const labels = {
    [LABELS.installation]: context.installation,
    [LABELS.service]: spec.serviceId,
    [LABELS.deployment]: spec.deploymentId,
    ...options.labels,
  };
  const { region } = configuration;
  return {
    Name: options.name,
    Labels: labels,
    TaskTemplate: {
      ContainerSpec: {
        Image: image.manifest.reference,
        ...(command === '' ? {} : { Command: ['/bin/sh', '-c', command] }),
        ...(command === '' && args.length > 0 ? { Args: [...args] } : {}),
        ...(image.manifest.workingDirectory === '' ? {} : { Dir: image.manifest.workingDirectory }),
        Env: environmentOf(spec),
        Labels: labels,
        // Not every image's own process reaps orphans and forwards signals.
        Init: true,
        CapabilityDrop: DROPPED_CAPABILITIES,
        StopGracePeriod: context.stopGraceSeconds * NANOSECONDS,
      },
      Resources: {
        Limits: { MemoryBytes: memoryMb * MEGABYTE, NanoCPUs: cpu * NANOSECONDS, Pids: pids },
        Reservations: { MemoryBytes: memoryMb * MEGABYTE, NanoCPUs: cpu * RESERVED_CPU * NANOSECONDS },
      },
      RestartPolicy: isRestarted ? { Condition: 'any', Delay: RESTART_DELAY_MS * 1e6, MaxAttempts: 0 } : RUN_ONCE,
      Placement: { Constraints: [...(region === 'auto' ? [] : [`node.labels.region==${region}`]), ...constraints] },
      Networks: [{ Target: context.network, Aliases: [spec.slug, ...(spec.alias ? [spec.alias] : [])] }],
      LogDriver: { Name: 'json-file', Options: LOG_OPTIONS },
    },
    Mode: { Replicated: { Replicas: 1 } },
    // Virtual IPs and the ingress network need IPVS, which not every kernel has. The edge balances the load itself.
    EndpointSpec: {
      Mode: 'dnsrr',
      ...(port === null ? {} : { Ports: [{ Protocol: 'tcp', TargetPort: port, PublishMode: 'host' }] }),
    },
  } satisfies CreateServiceOptions;
}

function environmentOf(spec: ReleaseSpec): string[] {
  const port = containerPort(spec);
  const variables = {
    ...spec.environment,
    RANVIER_SERVICE_ID: spec.serviceId,
    RANVIER_DEPLOYMENT_ID: spec.deploymentId,
    ...(port === null ? {} : { PORT: String(port) }),
  };
  return Object.entries(variables).map(([name, value]) => `${name}=${literal(value)}`);
}

/**
 * Swarm evaluates the value of each variable as a Go template, on the managers and on the node. Without this function,
 * a tenant could set a value that keeps the Docker engine busy forever.
 */
function literal(text: string): string {
  return text.replaceAll('{{', '{{"{{"}}');
}

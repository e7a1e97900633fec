import type { CreateServiceOptions } from 'dockerode';
import { portOf } from '../../../shared/data/model.js';
import { isDataKind, listensOnPort } from '../../../shared/services/model.js';
import { limitsOf } from '../../../shared/services/plan-catalog.js';
import type { ReleaseSpec } from '../runtime-driver.js';

/** Labels of everything that the platform creates. Whatever lacks this installation's label is never touched. */
export const LABELS = {
  installation: 'ranvier.installation',
  service: 'ranvier.service',
  deployment: 'ranvier.deployment',
  replica: 'ranvier.replica',
  command: 'ranvier.command',
  network: 'ranvier.network',
  /** The service whose volume a task uses. Its node never changes. */
  volume: 'ranvier.volume',
} as const;

export const NANOSECONDS = 1e9;
export const MEGABYTE = 1024 * 1024;
/** Swarm waits this long before it replaces a task that ended, in milliseconds. */
export const RESTART_DELAY_MS = 2_000;
/**
 * The part of a plan's CPU that is reserved: others may use idle time. Memory in use cannot be taken back, so all of it
 * is reserved.
 */
const RESERVED_CPU = 0.25;
/** With these a task could forge packets and make devices, which no application needs. */
const DROPPED_CAPABILITIES = ['CAP_NET_RAW', 'CAP_MKNOD'];
const RUN_ONCE = { Condition: 'none', MaxAttempts: 0 };
const LOG_OPTIONS = { 'max-size': '10m', 'max-file': '3' };

export interface SwarmContext {
  installation: string;
  network: string;
  stopGraceSeconds: number;
}

/**
 * Returns the Swarm service of one replica. `constraints` are added to the placement.
 * Each replica is a service, because Swarm chooses which task of a service ends when it is scaled down, even if an edge
 * still sends requests to it. With separate services, a replica drains first and the others are not touched. Swarm
 * keeps each service running without our workers, on another node if its own is lost.
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

/**
 * Returns the Swarm service of one attempt of a run.
 * Unlike a replica's, its task is not restarted, and it has neither a port nor the service's name.
 */
export function attemptService(spec: ReleaseSpec, replicaId: string, runId: string, context: SwarmContext) {
  const environment = { ...spec.environment, RANVIER_RUN_ID: runId };
  const service = replicaService({ ...spec, kind: 'worker', environment }, replicaId, context);
  const Networks = [{ Target: context.network, Aliases: [] }];
  return { ...service, TaskTemplate: { ...service.TaskTemplate, Networks, RestartPolicy: RUN_ONCE } };
}

/** Returns the port on which the container listens; null if it listens on none. An application gets it as PORT. */
export function containerPort({ kind, configuration }: Pick<ReleaseSpec, 'kind' | 'configuration'>): number | null {
  if (isDataKind(kind)) return portOf(kind);
  return listensOnPort(kind) ? configuration.port : null;
}

export interface ServiceOptions {
  name: string;
  labels: Record<string, string>;
  /** A shell command line; '' for the image's own command. */
  command: string;
  /** Arguments of the image's ENTRYPOINT, in place of its CMD, if `command` is ''; empty or absent for those of CMD. */
  args?: readonly string[];
  /** The port of the container to which a port of the node leads; null or absent for none. */
  port?: number | null;
  /** True if Swarm starts another task when one has ended. */
  isRestarted?: boolean;
  constraints?: readonly string[];
}

/** Returns a Swarm service with the image, the environment, the limits and the network of a release. */
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
        // The init process reaps orphans and forwards signals, which not every image's own first process does.
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
    // Virtual addresses and ingress need IPVS, which not every kernel has. The edge balances itself, so a port of the
    // node suffices.
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
 * Returns a template whose result is the text itself.
 * Swarm runs each variable as a Go template, in the managers and on the node, and a short one can ask for more steps
 * than the engine ever finishes.
 */
function literal(text: string): string {
  return text.replaceAll('{{', '{{"{{"}}');
}

import type { StackDocument } from '../../../../shared/stacks/document-schema.js';
import { databaseOf } from './compose-databases.js';
import { healthOf, kindOf } from './compose-ports.js';
import { commandOf, sourceOf } from './compose-source.js';
import { interpolate, readEnvLines } from './compose-text.js';
import { environmentOf, plainTexts, variablesOf } from './compose-variables.js';
import { needsDocker, volumesOf } from './compose-volumes.js';
import { type ImportContext, type Loose, type Lost, looseOf, loseKeys, optional, textOf, textsOf } from './loose.js';
import { megabytesOf, planFor } from './service-parts.js';

/** Keys that are read, or have no effect here: networks and names are the platform's, crashed replicas restart. */
const READ: ReadonlySet<string> = new Set([
  ...['build', 'command', 'container_name', 'cpus', 'depends_on', 'deploy', 'entrypoint', 'env_file', 'environment'],
  ...['expose', 'healthcheck', 'hostname', 'image', 'init', 'labels', 'links', 'logging', 'mem_limit', 'networks'],
  ...['platform', 'ports', 'profiles', 'pull_policy', 'restart', 'scale', 'stdin_open', 'stop_grace_period', 'tty'],
  ...[
    'volumes',
    'annotations',
    'cap_drop',
    'security_opt',
    'read_only',
    'mem_reservation',
    'memswap_limit',
    'pids_limit',
  ],
  ...['stop_signal', 'ulimits', 'dns', 'attach', 'external_links', 'oom_score_adj', 'cpu_shares', 'version'],
]);
/** Keys that are lost, with the reason. */
const REASONS: Readonly<Record<string, string>> = {
  configs: 'files of the host are not mounted: put them into the image or the repository',
  secrets: 'files below /run/secrets do not exist: use variables',
  extends: 'is not followed: write the values here',
  network_mode: 'each service has a network of its own',
  privileged: 'services have no rights on the host',
  cap_add: 'services have no rights on the host',
  devices: 'services have no devices of the host',
  working_dir: 'begin the command with cd, or set it in the image',
  tmpfs: 'folders in memory are ordinary folders of the container',
  extra_hosts: 'names of the host are not known: use an address',
  user: 'the platform chooses the user of a service',
};

/** Turns a docker-compose.yml into a document. Pure. */
export function importCompose(value: unknown, { repository, folder, files }: ImportContext, lost: Lost): StackDocument {
  const file = looseOf(value);
  const env = readEnvLines(files['.env'] ?? '');
  if ('include' in file) lost('include', 'is not followed');
  const services = Object.entries(looseOf(file.services)).flatMap(([name, entry]) => {
    const service = looseOf(entry);
    const profiles = textsOf(service.profiles).join(', ');
    if (profiles !== '') {
      lost(`services.${name}`, `is only started with the profile ${profiles}, and left out`);
      return [];
    }
    if (needsDocker(service)) {
      lost(`services.${name}`, 'needs the socket of Docker, and is left out: the edge is the proxy of all services');
      return [];
    }
    return [{ name, service, variables: environmentOf(name, service, { env, files, lost }) }];
  });
  const databases = services.flatMap(({ name, service, variables }) => {
    const image = typeof service.image === 'string' && service.build === undefined ? service.image : '';
    return databaseOf(name, interpolate(image, env).value, plainTexts(variables)) ?? [];
  });
  for (const { name, service } of services) {
    if (databases.some((database) => database.name === name)) loseOfDatabase(`services.${name}`, service, lost);
  }
  const applications = services.filter(({ name }) => !databases.some((database) => database.name === name));
  const needed = new Set(services.flatMap(({ service }) => dependenciesOf(service)));
  const hosts = hostsOf(services);
  const shared = new Set<string>();
  const entries = applications.map(({ name, service, variables }): [string, Record<string, unknown>] => {
    const at = `services.${name}`;
    const own = Object.fromEntries(Object.entries(service).filter(([key]) => !key.startsWith('x-')));
    loseKeys(at, own, READ, REASONS, lost);
    const volumes = volumesOf(at, service, { shared, env, lost });
    const replicas = replicasOf(at, service, Object.keys(volumes).length > 0, lost);
    const network = kindOf(at, service, { needed: needed.has(name), env, lost });
    return [
      name,
      {
        ...network,
        ...sourceOf(at, service, { repository, folder, env, lost }),
        ...commandOf(service, env),
        ...healthOf(at, service, { kind: network.kind, lost }),
        ...(replicas === 1 ? {} : { replicas }),
        ...optional('variables', variablesOf(at, variables, { databases, hosts, lost })),
        ...optional('volumes', volumes),
        ...planFor(at, { volumes, ...limitsOf(service, env) }, lost),
      },
    ];
  });
  return {
    ...optional('services', Object.fromEntries(entries)),
    ...optional('databases', Object.fromEntries(databases.map(({ name, entry }) => [name, entry]))),
  } as StackDocument;
}

/** Returns the services by the names under which others reach them. */
function hostsOf(services: readonly { name: string; service: Loose }[]): Map<string, string> {
  const aliases = services.flatMap(({ name, service: { container_name: container, hostname, networks } }) => {
    const own = Object.values(looseOf(networks)).flatMap((network) => textsOf(looseOf(network).aliases));
    const hosts = [textOf(container), textOf(hostname), ...own].filter((host) => host !== 'localhost');
    return hosts.map((host): [string, string] => [host, name]);
  });
  // The name of a service takes precedence over an alias of another one.
  return new Map([...aliases, ...services.map(({ name }): [string, string] => [name, name])]);
}

/** Reports what a database of the platform does not do. */
function loseOfDatabase(at: string, { command, volumes }: Loose, lost: Lost): void {
  // A password of Redis is the usual one.
  if (command !== undefined && !/requirepass|appendonly/.test(textsOf(command).join(' '))) {
    lost(`${at}.command`, 'options of the database server are those of the platform');
  }
  const isScript = (text: string) => text.includes(':/docker-entrypoint-initdb.d');
  if (textsOf(volumes).some(isScript))
    lost(`${at}.volumes`, 'scripts at the first start are not run: run them by hand');
}

function replicasOf(at: string, { deploy, scale }: Loose, hasVolumes: boolean, lost: Lost): number {
  const given = looseOf(deploy).replicas ?? scale ?? 1;
  const wanted = typeof given === 'object' ? 1 : Number(given);
  if (!Number.isInteger(wanted) || wanted < 1) return 1;
  if (hasVolumes && wanted > 1) lost(`${at}.deploy.replicas`, 'a service with a volume has one replica');
  return hasVolumes ? 1 : Math.min(wanted, 100);
}

/** Returns the memory and the processor that a service may use. */
function limitsOf({ deploy, mem_limit: memory, cpus }: Loose, env: Readonly<Record<string, string>>) {
  const limits = looseOf(looseOf(looseOf(deploy).resources).limits);
  const size = limits.memory ?? memory;
  const cpu = Number(textsOf(limits.cpus ?? cpus)[0]);
  return {
    memoryMb: megabytesOf(typeof size === 'string' ? interpolate(size, env).value : textOf(size)),
    cpu: Number.isFinite(cpu) ? cpu : 0,
  };
}

function dependenciesOf({ depends_on: on }: Loose): string[] {
  return Array.isArray(on) ? textsOf(on) : Object.keys(looseOf(on));
}

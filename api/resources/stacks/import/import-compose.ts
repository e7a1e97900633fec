import type { StackDocument } from '../../../../shared/stacks/document-schema.js';
import { shellWords } from '../../shell-words.js';
import { databaseOf } from './compose-databases.js';
import { healthOf, kindOf } from './compose-ports.js';
import { commandOf, sourceOf } from './compose-source.js';
import { interpolate, type Reading, readEnvLines } from './compose-text.js';
import { environmentOf, plainTexts, variablesOf } from './compose-variables.js';
import { needsDocker, volumesOf } from './compose-volumes.js';
import {
  type ImportContext,
  type Loose,
  type Lost,
  looseOf,
  loseKeys,
  namesIn,
  optional,
  textOf,
  textsOf,
} from './loose.js';
import { megabytesOf, planFor } from './service-parts.js';

/** Keys that the import reads or that have no effect on this platform. Other keys are reported as lost. */
// `tmpfs` folders, which Docker keeps in memory, become ordinary folders of the container.
const READ = namesIn(`
  build command container_name cpus depends_on deploy entrypoint env_file environment expose healthcheck hostname
  image init labels links logging mem_limit networks platform ports profiles pull_policy restart scale stdin_open
  stop_grace_period tty volumes annotations cap_drop security_opt read_only mem_reservation memswap_limit
  pids_limit tmpfs stop_signal ulimits dns attach external_links oom_score_adj cpu_shares version
`);
const REASONS: Readonly<Record<string, string>> = {
  configs: 'files of the host are not mounted: put them into the image or the repository',
  secrets: 'files below /run/secrets do not exist: let the service read variables',
  extends: 'is not followed: write the values here',
  network_mode: 'each service has a network of its own',
  privileged: 'services have no rights on the host',
  cap_add: 'services have no rights on the host',
  devices: 'services have no devices of the host',
  working_dir: 'begin the command with cd, or set it in the image',
  extra_hosts: 'names of the host are not known: use an address',
  user: 'the platform chooses the user of a service',
};

/** Converts a docker-compose.yml to a document. */
export function importCompose(value: unknown, { repository, folder, files }: ImportContext, lost: Lost): StackDocument {
  const file = looseOf(value);
  const env = readEnvLines(files['.env'] ?? '');
  if ('include' in file) lost('include', 'is not followed');
  const all = Object.entries(looseOf(file.services)).map(([name, entry]) => ({ name, entry: looseOf(entry) }));
  const active = (env.COMPOSE_PROFILES ?? '').split(',').map((profile) => profile.trim());
  const isStarted = ({ profiles }: Loose) =>
    textsOf(profiles).length === 0 || textsOf(profiles).some((one) => active.includes(one) || active.includes('*'));
  const isNone = !all.some(({ entry }) => isStarted(entry));
  const jobs = jobsOf(all);
  const services = all.flatMap(({ name, entry: service }) => {
    if (!isStarted(service)) {
      const profiles = textsOf(service.profiles).join(', ');
      const what = `is started only with the profile ${profiles}, and left out: name it in COMPOSE_PROFILES of .env`;
      lost(`services.${name}`, what, isNone ? undefined : 'note');
      return [];
    }
    const waiting = jobs.get(name);
    if (waiting !== undefined && waiting.length > 0) {
      lost(`services.${name}`, `is the pre-deploy command of ${waiting.join(', ')}, and no service`, 'note');
      return [];
    }
    if (waiting !== undefined)
      lost(
        `services.${name}`,
        'runs once and ends, and others wait for it: make it the preDeployCommand of one of them',
      );
    if (needsDocker(service)) {
      lost(`services.${name}`, 'needs the socket of Docker, and is left out: the edge is the proxy of all services');
      return [];
    }
    return [{ name, service, variables: environmentOf(name, service, { env, files, lost }) }];
  });
  const hosts = hostsOf(services);
  const candidates = services.flatMap(({ name, service, variables }) => {
    const image = typeof service.image === 'string' && service.build === undefined ? service.image : '';
    return databaseOf(name, interpolate(image, env).value, plainTexts(variables)) ?? [];
  });
  const databases = candidates.filter(({ name }) => {
    const why = whyNoDatabase(name, services, { databases: candidates, hosts });
    if (why !== null) lost(`services.${name}`, `stays a service of its image: ${why}`, 'note');
    return why === null;
  });
  for (const { name, service } of services) {
    if (databases.some((database) => database.name === name)) loseOfDatabase(`services.${name}`, service, lost);
  }
  const applications = services.filter(({ name }) => !databases.some((database) => database.name === name));
  const ports = portsOf(services, hosts);
  const shared = new Set<string>();
  const entries = applications.map(({ name, service, variables }): [string, Record<string, unknown>] => {
    const at = `services.${name}`;
    const own = Object.fromEntries(Object.entries(service).filter(([key]) => !key.startsWith('x-')));
    loseKeys(at, own, READ, REASONS, lost);
    const { volumes, copies } = volumesOf(at, service, { shared, repository, folder, env, lost });
    const replicas = replicasOf(at, service, Object.keys(volumes).length > 0, lost);
    const network = kindOf(at, service, { named: ports.get(name), env, lost });
    return [
      name,
      {
        ...network,
        ...sourceOf(at, service, { repository, folder, copies, env, lost }),
        ...commandOf(at, service, { env, lost }),
        ...preDeployOf(at, name, all, jobs, { env, lost }),
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

/** Matches images of database consoles. Their users enter the database's address, so no variable contains it. */
const CONSOLE = /adminer|pgadmin|pgweb|commander|redisinsight/;

/** Returns why a database server stays an ordinary service; null if a database of the platform replaces it. */
function whyNoDatabase(
  name: string,
  services: readonly Applied[],
  others: Omit<Parameters<typeof variablesOf>[2], 'lost'>,
): string | null {
  const own = services.find((each) => each.name === name)?.service ?? {};
  if (scriptsOf(own).some((script) => script.startsWith('.'))) return 'scripts of the repository make its content';
  const blind = services.find(({ name: other, service, variables }) => {
    if (!dependenciesOf(service).includes(name) || CONSOLE.test(textOf(service.image))) return false;
    const entries = Object.values(variablesOf(`services.${other}`, variables, { ...others, lost: () => undefined }));
    // A service with a secret variable does not count: the address may be in the secret instead of the code.
    return !entries.some((entry) => 'secret' in looseOf(entry) || looseOf(looseOf(entry).reference).service === name);
  });
  return blind === undefined ? null : `no variable of ${blind.name} has its address, so that its code has it`;
}

interface Applied {
  name: string;
  service: Loose;
  variables: Record<string, string | null>;
}

/** Returns the scripts that a database runs at its first start. */
function scriptsOf({ volumes }: Loose): string[] {
  return textsOf(volumes).filter((text) => text.includes(':/docker-entrypoint-initdb.d'));
}

/**
 * Returns each job with the services whose pre-deploy command it becomes. A job is a service for whose end other
 * services wait. It becomes the pre-deploy command of those waiting services that use its image. If none does, the list
 * is empty.
 */
function jobsOf(all: readonly Named[]): Map<string, string[]> {
  const jobs = new Map<string, string[]>();
  for (const { name: waiting, entry } of all) {
    for (const [job, on] of Object.entries(looseOf(entry.depends_on))) {
      if (looseOf(on).condition !== 'service_completed_successfully') continue;
      const source = ({ image, build }: Loose) => JSON.stringify([image, build]);
      const own = all.find(({ name }) => name === job)?.entry ?? {};
      const isCommand = source(own) === source(entry) && own.command !== undefined;
      jobs.set(job, [...(jobs.get(job) ?? []), ...(isCommand ? [waiting] : [])]);
    }
  }
  return jobs;
}

interface Named {
  name: string;
  entry: Loose;
}

function preDeployOf(
  at: string,
  name: string,
  all: readonly Named[],
  jobs: ReadonlyMap<string, readonly string[]>,
  reading: Reading,
): { preDeployCommand?: string } {
  const [first, ...more] = all.filter((job) => jobs.get(job.name)?.includes(name));
  if (first === undefined) return {};
  for (const job of more) reading.lost(at, `has one pre-deploy command, and ${job.name} is a second one`);
  const { startCommand, startArguments = [] } = commandOf(at, first.entry, reading);
  return { preDeployCommand: startCommand ?? shellWords(startArguments) };
}

/** Returns the port of each service that variables name, such as 3000 for `api` in `http://api:3000/path`. */
function portsOf(services: readonly Applied[], hosts: ReadonlyMap<string, string>): Map<string, number> {
  const found = new Map<string, number>();
  for (const { variables } of services) {
    for (const text of Object.values(variables)) {
      for (const [, host = '', port = ''] of (text ?? '').matchAll(/(?<![\w.-])([\w.-]{1,63}):(\d{1,5})(?!\d)/g)) {
        if (Number(port) > 0 && Number(port) < 65_536) found.set(hosts.get(host) ?? host, Number(port));
      }
    }
  }
  return found;
}

/** Returns the service for each host name under which other services connect to it. */
function hostsOf(services: readonly { name: string; service: Loose }[]): Map<string, string> {
  const aliases = services.flatMap(({ name, service: { container_name: container, hostname, networks } }) => {
    const own = Object.values(looseOf(networks)).flatMap((network) => textsOf(looseOf(network).aliases));
    const hosts = [textOf(container), textOf(hostname), ...own].filter((host) => host !== 'localhost');
    return hosts.map((host): [string, string] => [host, name]);
  });
  // A service's name takes precedence over another service's alias.
  return new Map([...aliases, ...services.map(({ name }): [string, string] => [name, name])]);
}

function loseOfDatabase(at: string, service: Loose, lost: Lost): void {
  const { command } = service;
  // Options that only set a Redis password or persistence are not reported, because every Redis database here has both.
  if (command !== undefined && !/requirepass|appendonly/.test(textsOf(command).join(' '))) {
    lost(`${at}.command`, 'options of the database server are those of the platform');
  }
  if (scriptsOf(service).length > 0)
    lost(`${at}.volumes`, 'scripts at the first start are not run: give them to rnv psql once');
}

function replicasOf(at: string, { deploy, scale }: Loose, hasVolumes: boolean, lost: Lost): number {
  const given = looseOf(deploy).replicas ?? scale ?? 1;
  const wanted = typeof given === 'object' ? 1 : Number(given);
  if (!Number.isInteger(wanted) || wanted < 1) return 1;
  if (hasVolumes && wanted > 1) lost(`${at}.deploy.replicas`, 'a service with a volume has one replica');
  return hasVolumes ? 1 : Math.min(wanted, 100);
}

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

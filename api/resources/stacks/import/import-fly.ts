import type { StackDocument, VariableEntry } from '../../../../shared/stacks/document-schema.js';
import { labelOf } from '../../../../shared/stacks/label.js';
import { MAX_VOLUMES } from '../../../../shared/volumes/model.js';
import {
  given,
  type ImportContext,
  type Loose,
  type Lost,
  looseListOf,
  looseOf,
  loseKeys,
  namesIn,
  optional,
  textOf,
  textsOf,
} from './loose.js';
import {
  megabytesOf,
  nameOf,
  planFor,
  processDocument,
  repositoryOf,
  type Volumes,
  volumeName,
} from './service-parts.js';

const READ = namesIn(`
  app build deploy env processes http_service services mounts vm checks restart kill_signal kill_timeout
  console_command swap_size_mb experimental machine_checks
`);
const REASONS: Readonly<Record<string, string>> = {
  primary_region: 'the regions are those of this installation',
  statics: 'files are served by the application',
  files: 'put files into the image or the repository',
  metrics: 'metrics of an application are not collected',
};
/** Process name of an application that defines no processes. */
const ONLY = 'app';

/** Converts a fly.toml to a document. */
export function importFly(value: unknown, context: ImportContext, lost: Lost): StackDocument {
  const file = looseOf(value);
  loseKeys('', file, READ, REASONS, lost);
  const name = labelOf(textOf(file.app)) || nameOf(context);
  const commands = Object.entries(looseOf(file.processes));
  const processes = commands.length === 0 ? [[ONLY, ''] as const] : commands;
  const main = processes.find(([process]) => isMain(process, file))?.[0] ?? processes[0]?.[0] ?? ONLY;
  const { PORT: port, ...env } = looseOf(file.env);
  // A document has no build arguments, but its builds get the variables as arguments. So arguments become variables.
  const variables = Object.entries({ ...looseOf(looseOf(file.build).args), ...env }).map(
    ([key, text]): [string, VariableEntry] => [key, textOf(text)],
  );
  const { release_command: release } = looseOf(file.deploy);
  const source = sourceOf(looseOf(file.build), context, lost);
  const entries = processes.map(([process, command]) => {
    const volumes = volumesOf(process, file, lost);
    return {
      name: process === main ? name : `${name}-${process}`,
      entry: {
        ...networkOf(process, file, port, lost),
        ...source,
        ...given({ startCommand: command, preDeployCommand: process === main ? release : '' }),
        ...optional('volumes', volumes),
        ...planFor(`processes.${process}`, { volumes, ...sizeOf(process, file) }, lost),
      },
    };
  });
  return processDocument(name, entries, Object.fromEntries(variables));
}

/** Returns the entries of a section that apply to a process. An entry without `processes` applies to all. */
function entriesOf(section: unknown, process: string): Loose[] {
  const list = Array.isArray(section) ? looseListOf(section) : section === undefined ? [] : [looseOf(section)];
  return list.filter(({ processes }) => textsOf(processes).length === 0 || textsOf(processes).includes(process));
}

function isMain(process: string, { http_service: http, services }: Loose): boolean {
  return entriesOf(http, process).length + entriesOf(services, process).length > 0;
}

function networkOf(process: string, file: Loose, given_: unknown, lost: Lost): Record<string, unknown> {
  const http = entriesOf(file.http_service, process);
  const services = entriesOf(file.services, process);
  const isWeb = (service: Loose) =>
    looseListOf(service.ports).some(({ handlers }) => textsOf(handlers).some((each) => ['http', 'tls'].includes(each)));
  const [web, ...more] = [...http, ...services.filter(isWeb)];
  const others = services.filter((service) => !isWeb(service));
  const [main = others[0]] = [web];
  for (const { internal_port: port } of [...more, ...others].filter((each) => each !== main)) {
    lost('services', `only one port of ${process} has an address; without one: ${textOf(port)}`);
  }
  if (main === undefined) return { kind: 'worker' };
  if (web === undefined) lost('services', `${textOf(main.internal_port)} is reached by other services only`);
  const port = main.internal_port ?? (textOf(given_) === '' ? 8080 : Number(textOf(given_)));
  const checks = [
    ...looseListOf(main.checks),
    ...looseListOf(main.http_checks),
    ...Object.values(looseOf(file.checks)),
  ];
  const path = checks.map((check) => textOf(looseOf(check).path)).find((each) => each !== '');
  const replicas = Number(textOf(main.min_machines_running));
  return {
    kind: web === undefined ? 'private' : 'web',
    port,
    ...given({ healthCheckPath: path }),
    ...(replicas > 1 && file.mounts === undefined ? { replicas } : {}),
  };
}

function sourceOf(build: Loose, context: ImportContext, lost: Lost): Record<string, unknown> {
  const { image, dockerfile, builder, buildpacks, args: _args, ...more } = build;
  if (image !== undefined) return { sourceType: 'image', image };
  loseKeys(
    'build',
    more,
    new Set(['ignorefile']),
    { 'build-target': 'the last stage of the Dockerfile is built' },
    lost,
  );
  const isDetected = builder !== undefined || buildpacks !== undefined;
  return {
    ...repositoryOf('build', context, lost),
    ...(isDetected
      ? {}
      : { buildMethod: 'dockerfile', ...given({ dockerfilePath: textOf(dockerfile).replace(/^\/+/, '') }) }),
  };
}

function volumesOf(process: string, { mounts }: Loose, lost: Lost): Volumes {
  const volumes: Volumes = {};
  // Reads one volume more than a service may have, so that the import reports that there are too many.
  const read = entriesOf(mounts, process).slice(0, MAX_VOLUMES + 1);
  for (const { source, destination, initial_size: initial, size_gb: size } of read) {
    const gigabytes = typeof size === 'number' ? size : Math.ceil(megabytesOf(initial) / 1024);
    const name = volumeName(textOf(source), Object.keys(volumes));
    volumes[name] = { mountPath: textOf(destination), sizeGb: Math.max(1, gigabytes) };
    lost('mounts', `${textOf(source) || name} becomes a volume, which is empty`);
  }
  return volumes;
}

function sizeOf(process: string, { vm }: Loose): { memoryMb: number; cpu: number } {
  const [{ memory, memory_mb: number, size, cpus, cpu_kind: kind } = {} as Loose] = entriesOf(vm, process);
  const [, sizeKind = '', sizeCpus = ''] =
    /^(shared-cpu|performance)-(\d{1,2})x$/.exec(textOf(size).slice(0, 32)) ?? [];
  const plain = /^\d{1,9}$/.test(textOf(memory)) ? Number(memory) : megabytesOf(memory);
  const isShared = (sizeKind || textOf(kind)) !== 'performance';
  const cores = Number(sizeCpus || textOf(cpus) || 0);
  return {
    memoryMb: plain || megabytesOf(number) || Number(sizeCpus) * (isShared ? 256 : 2048),
    // A shared CPU is only a sixteenth of a core. It counts as 0, so that the memory decides the plan.
    cpu: Number.isFinite(cores) && !isShared ? cores : 0,
  };
}

import {
  entryOf,
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
import { variablesOf } from './render-variables.js';
import { planNamed, repositoryOf } from './service-parts.js';

const KINDS: Readonly<Record<string, string>> = { web: 'web', pserv: 'private', worker: 'worker', cron: 'cron' };
/** Keys of services and databases in a render.yaml that the import knows. Other keys are reported as lost. */
export const RENDER_KEYS = namesIn(`
  type name runtime env plan repo branch rootDir buildCommand startCommand preDeployCommand schedule numInstances
  scaling autoDeploy autoDeployTrigger buildFilter dockerCommand dockerContext dockerfilePath image
  healthCheckPath domain domains envVars disk previews pullRequestPreviewsEnabled staticPublishPath ipAllowList
  maxmemoryPolicy databaseName user postgresMajorVersion maintenanceMode renderSubdomainPolicy property
`);
export const RENDER_REASONS: Readonly<Record<string, string>> = {
  region: 'the regions are those of this installation',
  initialDeployHook: 'runs once: run it by hand after the first deployment',
  headers: 'headers are set by the application',
  routes: 'redirects and rewrites are those of the application',
  registryCredential: 'add the registry here, and set registryId',
  diskSizeGB: 'the plan says the size of a database',
  highAvailability: 'a database has one server',
  readReplicas: 'a database has one server',
  maxShutdownDelaySeconds: 'the time to shut down is that of the installation',
};
/** Returns the document's entry for a service that is not a database. */
export function serviceOf(name: string, service: Loose, context: ImportContext, lost: Lost): Record<string, unknown> {
  const at = `services.${name}`;
  loseKeys(at, service, RENDER_KEYS, RENDER_REASONS, lost);
  const runtime = textOf(service.runtime ?? service.env);
  const isStatic = runtime === 'static' || service.type === 'static';
  const kind = isStatic ? 'static' : entryOf(KINDS, textOf(service.type));
  if (kind === undefined) lost(`${at}.type`, `${textOf(service.type)} is no kind here: it becomes a web service`);
  const { port, ...variables } = variablesOf(at, service, lost);
  const { name: volume, mountPath, sizeGB } = looseOf(service.disk);
  return {
    kind: kind ?? 'web',
    ...port,
    ...sourceOf(at, service, { runtime, isStatic, context, lost }),
    ...given({
      buildCommand: service.buildCommand,
      startCommand: service.dockerCommand ?? service.startCommand,
      preDeployCommand: service.preDeployCommand,
      healthCheckPath: service.healthCheckPath,
      schedule: service.schedule,
      replicas: service.numInstances,
    }),
    ...scalingOf(looseOf(service.scaling)),
    ...deploysOf(service),
    ...planNamed(at, textOf(service.plan), lost),
    ...rangesOf(service),
    ...(service.disk === undefined
      ? {}
      : { volumes: { [textOf(volume) || 'data']: { mountPath: mountPath ?? '/data', sizeGb: sizeGB ?? 10 } } }),
    ...optional('domains', textsOf([service.domain ?? [], service.domains ?? []].flat())),
    ...variables,
  };
}

interface SourceFacts {
  runtime: string;
  isStatic: boolean;
  context: ImportContext;
  lost: Lost;
}

function sourceOf(
  at: string,
  service: Loose,
  { runtime, isStatic, context, lost }: SourceFacts,
): Record<string, unknown> {
  const image = looseOf(service.image);
  if (image.url !== undefined) {
    if (image.creds !== undefined) lost(`${at}.image.creds`, 'add the registry here, and set registryId');
    return { sourceType: 'image', image: image.url };
  }
  const docker = {
    buildMethod: 'dockerfile',
    dockerfilePath: service.dockerfilePath,
    dockerContext: service.dockerContext,
  };
  return {
    ...repositoryOf(`${at}.repo`, textOf(service.repo) === '' ? context : { repository: textOf(service.repo) }, lost),
    ...given({ branch: service.branch, rootDirectory: service.rootDir }),
    ...(runtime === 'docker' ? given(docker) : {}),
    ...(isStatic ? given({ publishDirectory: service.staticPublishPath }) : {}),
  };
}

function scalingOf({
  minInstances,
  maxInstances,
  targetCPUPercent,
  targetMemoryPercent,
}: Loose): Record<string, unknown> {
  const fields = given({
    minReplicas: minInstances,
    maxReplicas: maxInstances,
    targetCpu: targetCPUPercent,
    targetMemory: targetMemoryPercent,
  });
  return Object.keys(fields).length === 0 ? {} : { scaling: 'auto', ...fields };
}

function deploysOf({
  autoDeploy,
  autoDeployTrigger,
  buildFilter,
  previews,
  pullRequestPreviewsEnabled,
  ...service
}: Loose) {
  const trigger = textOf(autoDeployTrigger) || (autoDeploy === false || autoDeploy === 'no' ? 'off' : 'commit');
  const { paths, ignoredPaths } = looseOf(buildFilter);
  const generation = textOf(looseOf(previews).generation) || (pullRequestPreviewsEnabled === true ? 'automatic' : '');
  return {
    ...(service.image === undefined && trigger !== 'off' ? { autoDeploy: 'commit' } : {}),
    ...given({ includePaths: paths, ignorePaths: ignoredPaths }),
    ...(['manual', 'automatic'].includes(generation) ? { previewMode: generation } : {}),
    ...(textOf(service.renderSubdomainPolicy) === 'disabled' ? { platformDomainEnabled: false } : {}),
    ...(looseOf(service.maintenanceMode).enabled === true ? { maintenance: true } : {}),
  };
}

function rangesOf({ ipAllowList }: Loose): Record<string, unknown> {
  const ranges = looseListOf(ipAllowList).flatMap(({ source }) => textsOf(source));
  return ranges.length === 0 || ranges.includes('0.0.0.0/0') ? {} : { ipAllowList: ranges };
}

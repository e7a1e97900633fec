import type { StackDocument } from '../../../../shared/stacks/document-schema.js';
import { given, type ImportContext, type Lost, looseOf, loseKeys, namesIn, textOf, textsOf } from './loose.js';
import { nameOf, processDocument, repositoryOf } from './service-parts.js';

const BUILD = namesIn(`
  builder buildCommand dockerfilePath watchPatterns watchPaths
`);
const DEPLOY = namesIn(`
  startCommand preDeployCommand numReplicas healthcheckPath healthCheckPath healthcheckTimeout restartPolicyType
  restartPolicyMaxRetries cronSchedule drainingSeconds overlapSeconds runtime
`);
const REASONS: Readonly<Record<string, string>> = {
  sleepApplication: 'replicas always run',
  region: 'the regions are those of this installation',
  multiRegionConfig: 'the regions are those of this installation',
  nixpacksConfigPath: 'the build is configured by railpack.json',
  nixpacksPlan: 'the build is configured by railpack.json',
  railpackVersion: 'the installation has its own version of Railpack',
  nixpacksVersion: 'the build is one of Railpack',
  limitOverride: 'choose a plan, which says processor and memory',
};

/** Converts a railway.json or railway.toml to a document with one service. */
export function importRailway(value: unknown, context: ImportContext, lost: Lost): StackDocument {
  const file = looseOf(value);
  const [build, deploy] = [looseOf(file.build), looseOf(file.deploy)];
  loseKeys(
    '',
    file,
    new Set(['$schema', 'build', 'deploy']),
    {
      environments: 'settings of one environment are left out',
      variables: 'is not read by Railway either: set variables here',
    },
    lost,
  );
  loseKeys('build', build, BUILD, REASONS, lost);
  loseKeys('deploy', deploy, DEPLOY, REASONS, lost);
  const schedule = textOf(deploy.cronSchedule);
  const path = deploy.healthcheckPath ?? deploy.healthCheckPath;
  if (schedule === '' && textOf(path) === '') {
    lost('deploy', 'does not say whether the service has visitors: it becomes a web service');
  }
  const isDockerfile = /^dockerfile$/i.test(textOf(build.builder)) || build.dockerfilePath !== undefined;
  const commands = textsOf(deploy.preDeployCommand);
  const entry = {
    kind: schedule === '' ? 'web' : 'cron',
    ...repositoryOf('build', context, lost),
    ...(isDockerfile ? { buildMethod: 'dockerfile' } : {}),
    ...given({
      buildCommand: build.buildCommand,
      dockerfilePath: build.dockerfilePath,
      includePaths: build.watchPatterns ?? build.watchPaths,
      startCommand: deploy.startCommand,
      preDeployCommand: commands.join(' && '),
      replicas: deploy.numReplicas,
      healthCheckPath: path,
      schedule,
    }),
  };
  return processDocument(nameOf(context), [{ name: nameOf(context), entry }], {});
}

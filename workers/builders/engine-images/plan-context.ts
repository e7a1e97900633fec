import { readFile, stat } from 'node:fs/promises';
import type { Config } from '../../../shared/core/config.js';
import type { BuildRequest } from '../builder.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { heapOptions } from '../steps/build-commands.js';
import { registryEnvironment } from '../toolchains/registry-environment.js';
import type { PackagedName, ToolVersion } from '../toolchains/tool-packages.js';
import {
  CERTIFICATES,
  cacheVariables,
  type DockerfileInput,
  writeCacheCleaner,
  writeDockerfile,
} from './dockerfile-writer.js';

interface PlanContextInput {
  plan: BuildPlan;
  /** The tools that the project requires and the base image may lack. */
  tools: readonly ToolVersion<PackagedName>[];
  request: BuildRequest;
  config: Pick<Config, 'buildEnvironment' | 'baseImages'>;
  app: string;
  labels: Record<string, string>;
}

/** Returns the build context and arguments of a plan. `cacheCleaner` is a Dockerfile that empties the caches. */
export async function planContext(input: PlanContextInput) {
  const { plan, request, config, app } = input;
  const { variables, certificates } = await platformVariables(config.buildEnvironment);
  const buildArgs = {
    ...variables,
    ...registryEnvironment(variables),
    CI: 'true',
    ...plan.environment,
    ...plan.buildEnvironment,
    ...cacheVariables(plan),
    ...request.environment,
    ...(plan.versions.manager === null ? {} : { NODE_OPTIONS: heapOptions(request, plan.buildEnvironment) }),
  };
  const dockerfile: DockerfileInput = {
    plan,
    tools: input.tools,
    baseImages: config.baseImages,
    variables: Object.keys(buildArgs).sort(),
    certificates: Object.keys(certificates).length > 0,
    cacheName: `ranvier-${request.serviceId}`,
    port: request.configuration.port,
    labels: input.labels,
  };
  const files = { Dockerfile: writeDockerfile(dockerfile), ...certificates };
  return {
    content: { folders: [{ at: 'app', path: app }], files },
    buildArgs,
    cacheCleaner: writeCacheCleaner(dockerfile),
  };
}

/** Returns the platform's variables for builds. A file that a value names is copied into the build stage. */
async function platformVariables(buildEnvironment: Config['buildEnvironment']): Promise<{
  variables: Record<string, string>;
  certificates: Record<string, { base64: string }>;
}> {
  const variables: Record<string, string> = {};
  const certificates: Record<string, { base64: string }> = {};
  for (const [name, value] of Object.entries(buildEnvironment)) {
    if (!value.startsWith('/')) variables[name] = value;
    else if ((await stat(value).catch(() => null))?.isFile()) {
      variables[name] = `${CERTIFICATES}/${name}`;
      certificates[`certificates/${name}`] = { base64: await readFile(value, 'base64') };
    }
  }
  return { variables, certificates };
}

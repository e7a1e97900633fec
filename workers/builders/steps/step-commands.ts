import { join } from 'node:path';
import type { Config } from '../../../shared/core/config.js';
import type { KeptDependencies } from '../dependencies/kept-dependencies.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { registryEnvironment } from '../toolchains/registry-environment.js';
import type { ToolchainStore } from '../toolchains/toolchain-store.js';
import { type CommandSetting, Commands, heapOptions } from './build-commands.js';
import type { TimeLimit } from './build-time-limit.js';

export interface StepsSetting extends Pick<CommandSetting, 'sandbox' | 'request' | 'context' | 'app'> {
  config: Pick<Config, 'buildEnvironment'>;
  toolchains: Pick<ToolchainStore, 'provide' | 'pathOf'>;
  limit: TimeLimit;
  /** The folder of the service's caches, and a promise that resolves when it is ready. */
  cache: string;
  cacheOpened: Promise<unknown>;
  kept: KeptDependencies;
  /** The result of `lockedInstall`. If it is null, the installation is never skipped. */
  locked: string | null;
}

/** Creates the object that runs a build's commands with these tools. */
export function commandsWith(setting: StepsSetting, plan: BuildPlan, tools: readonly string[]): Commands {
  const { sandbox, app, request, context, limit, cache, toolchains } = setting;
  return new Commands({
    sandbox,
    app,
    cwd: plan.folders.install,
    searchPath: plan.searchPath,
    request,
    context,
    deadline: limit.deadline,
    writable: [cache],
    environment: environmentOf(setting, plan, tools),
    tools: tools.map((name) => toolchains.pathOf(name)),
  });
}

/** Returns the environment of a build. The service's variables take precedence over the platform's. */
export function environmentOf(
  { config, request, cache }: StepsSetting,
  plan: BuildPlan,
  tools: readonly string[],
): Record<string, string> {
  const caches = Object.entries(plan.caches).map(([name, folder]) => [name, join(cache, folder)]);
  return {
    ...registryEnvironment(config.buildEnvironment, tools),
    ...config.buildEnvironment,
    CI: 'true',
    ...plan.environment,
    ...plan.buildEnvironment,
    ...Object.fromEntries(caches),
    ...request.environment,
    ...(plan.versions.manager === null ? {} : { NODE_OPTIONS: heapOptions(request, plan.buildEnvironment) }),
  };
}

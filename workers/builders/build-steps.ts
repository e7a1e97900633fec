import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { ownDirectory } from '../sandbox/service-users.js';
import { CommandError, Commands, heapOptions } from './build-commands.js';
import type { TimeLimit } from './build-time-limit.js';
import type { BuildContext, BuildRequest } from './builder.js';
import type { KeptDependencies } from './kept-dependencies.js';
import type { BuildPlan } from './plan-model.js';
import { readFiles } from './reader/read-files.js';
import { checkKey } from './tool-checks.js';
import { linkKept } from './toolchains/framework-caches.js';
import { hasHeaders, USE_HEADERS } from './toolchains/node-headers.js';
import { buildRecovery, installRecovery, nodeRecovery } from './toolchains/recovery.js';
import { registryEnvironment } from './toolchains/registry-environment.js';
import type { ToolchainStore } from './toolchains/toolchain-store.js';

export interface StepsSetting {
  sandbox: Sandbox;
  config: Pick<Config, 'buildEnvironment'>;
  toolchains: Pick<ToolchainStore, 'provide' | 'pathOf'>;
  request: BuildRequest;
  context: BuildContext;
  limit: TimeLimit;
  /** The folder with the repository's files. */
  app: string;
  /** The folder of the service's caches, and when it can be used. */
  cache: string;
  cacheOpened: Promise<unknown>;
  kept: KeptDependencies;
  /** `lockedInstall` of the plan. */
  locked: string | null;
}

/** What the steps of a build leave behind besides files. */
export interface StepsResult {
  /** The tools that the application needs. */
  tools: string[];
  /** Names the dependencies that were installed, if a later build may copy them. */
  dependencies: string | null;
}

/**
 * Runs the commands of a plan that install and build, with these tools. If the service's last build had the same dependencies,
 * they are copied instead of installed. If the installed packages need other versions of the tools, it installs and builds again
 * with those. Returns the tools that were used. Throws `BuildError`.
 */
export async function runSteps(setting: StepsSetting, plan: BuildPlan, tools: string[]): Promise<StepsResult> {
  const { context, limit, request, kept } = setting;
  const key = await installKey(setting, plan, tools);
  const { install: folder } = plan.folders;
  let isCopied = false;
  if (request.clearCache) await kept.forget();
  else if (key !== null) {
    const app = await realpath(setting.app);
    isCopied = await limit.within('copying the dependencies', () => kept.restore(key, app, folder, limit.signal));
  }
  if (isCopied)
    await context.log('The dependencies are those of the last build: nothing that decides them has changed');
  if (isCopied && plan.build.length === 0) return { tools, dependencies: key };
  await setting.cacheOpened;
  await giveToService(setting);
  const done = await withTools(setting, plan, tools, { key, isCopied });
  // A build may have changed what was installed, so its image does not have the dependencies.
  const isWhole = plan.build.length === 0 && done.asPlanned && (await isInstalled(setting, folder));
  return { tools: done.tools, dependencies: isWhole ? key : null };
}

/** How the dependencies come into a build. */
interface Installation {
  /** Names them; null if they cannot be kept. */
  key: string | null;
  /** True if they are there already. */
  isCopied: boolean;
}

/** Makes the service's user the owner of the repository's files, which its commands may change. */
async function giveToService({ app, request, limit }: StepsSetting): Promise<void> {
  await limit.within('the checkout', () => ownDirectory(app, request.userNumber, limit.signal));
}

/** Keeps what was installed for the next build, before commands of this one change it. */
async function keepInstalled(setting: StepsSetting, folder: string, key: string): Promise<void> {
  const { limit, kept } = setting;
  if (!(await isInstalled(setting, folder))) return;
  const app = await realpath(setting.app);
  await limit.within('keeping the dependencies', () => kept.keep(key, app, folder, limit.signal));
  await giveToService(setting);
}

/**
 * Names what an installation depends on: its files, its variables and its tools, with the state of this host's programs. Null if it may
 * depend on more.
 */
async function installKey(setting: StepsSetting, plan: BuildPlan, tools: readonly string[]): Promise<string | null> {
  const { locked, toolchains } = setting;
  if (locked === null) return null;
  const programs = await checkKey(
    plan.tools,
    tools.map((name) => toolchains.pathOf(name)),
  );
  const variables = Object.entries(environmentOf(setting, plan, tools)).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [locked, plan.folders.install, programs, variables];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

async function isInstalled({ app, limit }: StepsSetting, folder: string): Promise<boolean> {
  return readFiles('isInstalled', { app: await realpath(app), folder }, { signal: limit.signal });
}

interface Done {
  /** The tools that the application needs: the given ones, or others. */
  tools: string[];
  /** True if the plan's own commands installed, with the given tools. */
  asPlanned: boolean;
}

/** Whether the tools are there is asked only if a command has failed, or if none runs: a command that ends well has found them. */
async function withTools(
  setting: StepsSetting,
  plan: BuildPlan,
  tools: string[],
  installation: Installation,
): Promise<Done> {
  const check = () => commandsWith(setting, plan, tools).requireTools(plan);
  if (plan.install.length + plan.build.length === 0) await check();
  return runCommands(setting, plan, tools, installation).catch(async (error: unknown) => {
    if (error instanceof CommandError) await check();
    throw error;
  });
}

async function runCommands(
  setting: StepsSetting,
  plan: BuildPlan,
  tools: string[],
  { key, isCopied }: Installation,
): Promise<Done> {
  const { context, cache } = setting;
  let commands = commandsWith(setting, plan, tools);
  let asPlanned = isCopied;
  const failure = isCopied
    ? null
    : await installAll(setting, plan, commands, tools).then(
        (is) => {
          asPlanned = is;
          return null;
        },
        (error: unknown) => error,
      );
  if (failure !== null && !(failure instanceof CommandError)) throw failure;
  const other = isCopied ? null : await otherTools(setting, plan, tools, failure?.output ?? []);
  if (failure !== null && other === null) throw failure;
  if (other !== null) {
    commands = commandsWith(setting, plan, other);
    await commands.run('rm -rf node_modules');
    await installAll(setting, plan, commands, other);
  } else if (key !== null && asPlanned && !isCopied && plan.build.length > 0) {
    await keepInstalled(setting, plan.folders.install, key);
  }
  const build = { preparation: linkKept(plan.keptFolders, cache), cwd: plan.folders.build };
  let recovered = false;
  for (const command of plan.build) {
    await commands.run(command, {}, build).catch(async (error: unknown) => {
      const recovery = error instanceof CommandError && !recovered ? buildRecovery(plan.install, error.output) : null;
      if (recovery === null) throw error;
      recovered = true;
      await context.log(recovery.note, 'warn');
      if (recovery.install !== null) await install(commands, recovery.install, { context, headers: false });
      await commands.run(command, recovery.environment, build);
    });
  }
  return { tools: other ?? tools, asPlanned: asPlanned && other === null };
}

/**
 * The tools to use instead if the project names no Node.js, and a package that was installed, or the output of an
 * installation that failed, says that it does not run on this one. Lock files of some package managers do not tell that
 * before. Null if these will do.
 */
async function otherTools(
  setting: StepsSetting,
  plan: BuildPlan,
  tools: readonly string[],
  output: readonly string[],
): Promise<string[] | null> {
  const { versions, folders } = plan;
  const { limit, context, toolchains } = setting;
  if (versions.node !== null || versions.manager === null || plan.install.length === 0) return null;
  const app = await realpath(setting.app);
  const input = { app, folders: [folders.project, folders.install] };
  const installed = await readFiles('installedNode', input, { signal: limit.signal });
  const node = installed ?? nodeRecovery(output);
  if (node === null) return null;
  const lines: string[] = [];
  const log = async (line: string) => void lines.push(line);
  const other = await toolchains.provide({ ...versions, node }, { signal: limit.signal, log });
  if (other.join() === tools.join()) return null;
  await context.log(`${node.source} needs Node.js ${node.range}: installs again with it; engines.node changes this`);
  for (const line of lines) await context.log(line);
  return other;
}

/** True if no command had to be replaced by another one. */
async function installAll(
  { context, toolchains }: StepsSetting,
  plan: BuildPlan,
  commands: Commands,
  tools: readonly string[],
): Promise<boolean> {
  const headers = await hasHeaders(tools.map((name) => toolchains.pathOf(name)));
  let asPlanned = true;
  for (const command of plan.install) {
    asPlanned = (await install(commands, command, { context, headers })) && asPlanned;
  }
  return asPlanned;
}

interface InstallOptions {
  context: BuildContext;
  /** True if this host has the headers of the build's Node.js. */
  headers: boolean;
  tried?: readonly string[];
  preparation?: string;
}

/**
 * Builds need tools that are development dependencies, also if the application runs with another NODE_ENV. True if no other
 * command had to be run instead.
 */
async function install(commands: Commands, command: string, options: InstallOptions): Promise<boolean> {
  const { context, headers, tried = [], preparation = '' } = options;
  try {
    await commands.run(command, { NODE_ENV: 'development' }, { preparation });
    return true;
  } catch (error) {
    const recovery = error instanceof CommandError ? installRecovery(command, error.output) : null;
    if (recovery === null || tried.includes(recovery.command)) throw error;
    if (recovery.ownHeaders && !headers) throw error;
    await context.log(recovery.note, 'warn');
    await install(commands, recovery.command, {
      ...options,
      tried: [...tried, command],
      preparation: recovery.ownHeaders ? USE_HEADERS : preparation,
    });
    return false;
  }
}

function commandsWith(setting: StepsSetting, plan: BuildPlan, tools: readonly string[]): Commands {
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

/** The service's variables take precedence. Of the platform's variables, a build gets only those configured for builds. */
function environmentOf(
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

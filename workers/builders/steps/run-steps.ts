import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { ownDirectory } from '../../sandbox/service-users.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { readFiles } from '../reader/read-files.js';
import { linkKept } from '../toolchains/framework-caches.js';
import { CommandError, type Commands } from './build-commands.js';
import { buildRecovery } from './command-recovery.js';
import { type Installed, installAll, installOne, installWithTools } from './install-dependencies.js';
import { commandsWith, environmentOf, type StepsSetting } from './step-commands.js';
import { checkKey } from './tool-checks.js';

/**
 * Runs the commands of a plan that install and build. Returns the tools that the application needs, and a digest of the
 * dependencies. The digest is null if later builds cannot copy the dependencies from the image. Throws `BuildError`.
 */
export async function runSteps(
  setting: StepsSetting,
  plan: BuildPlan,
  tools: string[],
): Promise<{ tools: string[]; dependencies: string | null }> {
  const { context, limit, request, kept } = setting;
  const key = await installKey(setting, plan, tools);
  let isCopied = false;
  if (request.clearCache) await kept.forget();
  else if (key !== null) {
    const app = await realpath(setting.app);
    isCopied = await limit.within('copying the dependencies', () =>
      kept.restore(key, app, dependenciesOf(plan), limit.signal),
    );
  }
  if (isCopied)
    await context.log('The dependencies are those of the last build: nothing that decides them has changed');
  if (isCopied && !goesOn(plan)) return { tools, dependencies: key };
  await setting.cacheOpened;
  await giveToService(setting);
  const done = await withTools(setting, plan, tools, { key, isCopied });
  // Commands after the installation may have changed the dependencies, so later builds cannot copy them from the image.
  const isWhole = !goesOn(plan) && done.asPlanned && (await isInstalled(setting, plan));
  return { tools: done.tools, dependencies: isWhole ? key : null };
}

/** Returns true if commands follow the installation. They may change what was installed. */
function goesOn({ prepare = [], build }: BuildPlan): boolean {
  return prepare.length + build.length > 0;
}

interface Installation {
  /** Identifies the dependencies; null if it is unknown what determines them. */
  key: string | null;
  /** True if the dependencies were copied from the last build. */
  isCopied: boolean;
}

/** Makes the service's user the owner of the repository's files, because its commands may change them. */
async function giveToService({ app, request, limit }: StepsSetting): Promise<void> {
  await limit.within('the checkout', () => ownDirectory(app, request.userNumber, limit.signal));
}

async function keepInstalled(setting: StepsSetting, plan: BuildPlan, key: string): Promise<void> {
  const { limit, kept } = setting;
  if (!(await isInstalled(setting, plan))) return;
  const app = await realpath(setting.app);
  await limit.within('keeping the dependencies', () => kept.keep(key, app, dependenciesOf(plan), limit.signal));
  await giveToService(setting);
}

/** Returns a digest of all that determines an installation; null if its result may depend on anything else. */
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

function dependenciesOf({ folders, dependencies }: BuildPlan): string {
  return posix.join(folders.install, dependencies ?? '');
}

async function isInstalled({ app, limit }: StepsSetting, { folders, dependencies }: BuildPlan): Promise<boolean> {
  if (dependencies === null) return false;
  const input = { app: await realpath(app), folder: folders.install, dependencies };
  return readFiles('isInstalled', input, { signal: limit.signal });
}

/**
 * Runs the plan's commands. Checks for the required tools only if the plan has no commands, or if a command failed: a
 * command that succeeded has found its tools.
 */
async function withTools(
  setting: StepsSetting,
  plan: BuildPlan,
  tools: string[],
  installation: Installation,
): Promise<Installed> {
  const check = () => commandsWith(setting, plan, tools).requireTools(plan);
  if (plan.install.length === 0 && !goesOn(plan)) await check();
  try {
    return await runCommands(setting, plan, tools, installation);
  } catch (error) {
    if (error instanceof CommandError) await check();
    throw error;
  }
}

async function runCommands(
  setting: StepsSetting,
  plan: BuildPlan,
  tools: string[],
  { key, isCopied }: Installation,
): Promise<Installed> {
  if (isCopied) {
    await runBuild(setting, plan, commandsWith(setting, plan, tools), tools);
    return { tools, asPlanned: true };
  }
  const { commands, ...done } = await installWithTools(setting, plan, tools);
  if (key !== null && done.asPlanned && goesOn(plan)) {
    await keepInstalled(setting, plan, key);
  }
  await runBuild(setting, plan, commands, done.tools);
  return done;
}

async function runBuild(
  setting: StepsSetting,
  plan: BuildPlan,
  commands: Commands,
  tools: readonly string[],
): Promise<void> {
  const { context, cache } = setting;
  await installAll(setting, { install: plan.prepare ?? [] }, commands, tools);
  const build = { preparation: linkKept(plan.keptFolders, cache), cwd: plan.folders.build };
  let recovered = false;
  for (const command of plan.build) {
    try {
      await commands.run(command, {}, build);
    } catch (error) {
      const recovery =
        error instanceof CommandError && !recovered
          ? buildRecovery([...plan.install, ...(plan.prepare ?? [])], error.output)
          : null;
      if (recovery === null) throw error;
      recovered = true;
      await context.log(recovery.note, 'warn');
      if (recovery.install !== null) await installOne(commands, recovery.install, { context, headers: false });
      await commands.run(command, recovery.environment, build);
    }
  }
}

import { realpath } from 'node:fs/promises';
import type { BuildContext } from '../builder.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { readFiles } from '../reader/read-files.js';
import { wishedNode } from '../toolchains/implied-node.js';
import { hasHeaders, USE_HEADERS } from '../toolchains/node-headers.js';
import { CommandError, type Commands } from './build-commands.js';
import { hidePackages, installRecovery, nodeRecovery } from './command-recovery.js';
import { commandsWith, type StepsSetting } from './step-commands.js';

export interface Installed {
  /** The names of the tools with which the packages were installed. The application needs the same tools. */
  tools: string[];
  /** True if the packages were installed by the plan's own commands and tools, without any replacement. */
  asPlanned: boolean;
}

/**
 * Installs the packages, and installs them again if they need other tools. `commands` uses the tools of the last
 * installation.
 */
export async function installWithTools(
  setting: StepsSetting,
  plan: BuildPlan,
  tools: string[],
): Promise<Installed & { commands: Commands }> {
  const commands = commandsWith(setting, plan, tools);
  let asPlanned = false;
  let failure: CommandError | null = null;
  try {
    asPlanned = await installAll(setting, plan, commands, tools);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    failure = error;
  }
  const other = await otherTools(setting, plan, tools, failure?.output ?? []);
  if (other !== null) {
    const again = commandsWith(setting, plan, other);
    await again.run('rm -rf node_modules');
    await installAll(setting, plan, again, other);
    return { tools: other, asPlanned: false, commands: again };
  }
  if (failure !== null) throw failure;
  return { tools, asPlanned, commands };
}

/**
 * Returns other tools if an installed package or a failed installation needs another Node.js. Called after the
 * installation, because some lock files do not show which versions the packages need.
 */
async function otherTools(
  setting: StepsSetting,
  plan: BuildPlan,
  tools: readonly string[],
  output: readonly string[],
): Promise<string[] | null> {
  const { versions, folders } = plan;
  const { limit, context, toolchains } = setting;
  if (versions.manager === null || plan.install.length === 0) return null;
  const app = await realpath(setting.app);
  const input = { app, folders: [folders.project, folders.install] };
  const installed = await readFiles('installedNode', input, { signal: limit.signal });
  const needed = installed.needed ?? (versions.node === null ? nodeRecovery(output) : null);
  const node = wishedNode(versions.node, needed, installed.framework);
  if (node === null || node === versions.node) return null;
  const lines: string[] = [];
  const log = async (line: string) => void lines.push(line);
  const other = await toolchains.provide({ ...versions, node }, { signal: limit.signal, log });
  if (other.join() === tools.join()) return null;
  const advice = versions.node === null ? '; engines.node changes this' : '';
  await context.log(`${node.source} needs Node.js ${node.range}: installs again with it${advice}`);
  for (const line of lines) await context.log(line);
  return other;
}

/** Installs all packages, or only the needed ones if that fails. Returns true if `install` succeeded unchanged. */
export async function installAll(
  { context, toolchains }: StepsSetting,
  { install, unneeded = [] }: Pick<BuildPlan, 'install' | 'unneeded'>,
  commands: Commands,
  tools: readonly string[],
): Promise<boolean> {
  const headers = await hasHeaders(tools.map((name) => toolchains.pathOf(name)));
  const all = async (preparation: string): Promise<boolean> => {
    let asPlanned = true;
    for (const command of install) {
      asPlanned = (await installOne(commands, command, { context, headers, preparation })) && asPlanned;
    }
    return asPlanned;
  };
  try {
    return await all('');
  } catch (error) {
    if (!(error instanceof CommandError) || unneeded.length === 0) throw error;
    const names = unneeded.length > 3 ? `${unneeded.slice(0, 3).join(', ')}, …` : unneeded.join(', ');
    const note = `Installs again without ${unneeded.length} of the workspace's packages, which this application does not need: ${names}`;
    await context.log(note, 'warn');
    await all(hidePackages(unneeded));
    return false;
  }
}

interface InstallOptions {
  context: BuildContext;
  /** True if this host has the headers of the build's Node.js. */
  headers: boolean;
  tried?: readonly string[];
  preparation?: string;
}

/**
 * Runs an install command, and a replacement after a known failure. Returns true if no replacement had to run. Builds
 * need development dependencies, so NODE_ENV is not the application's.
 */
export async function installOne(commands: Commands, command: string, options: InstallOptions): Promise<boolean> {
  const { context, headers, tried = [], preparation = '' } = options;
  try {
    await commands.run(command, { NODE_ENV: 'development' }, { preparation });
    return true;
  } catch (error) {
    const recovery = error instanceof CommandError ? installRecovery(command, error.output) : null;
    if (recovery === null || tried.includes(recovery.command)) throw error;
    if (recovery.ownHeaders && !headers) throw error;
    await context.log(recovery.note, 'warn');
    await installOne(commands, recovery.command, {
      ...options,
      tried: [...tried, command],
      preparation: recovery.ownHeaders ? `${preparation}${USE_HEADERS}` : preparation,
    });
    return false;
  }
}

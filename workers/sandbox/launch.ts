import type { ChildProcess } from 'node:child_process';
import type { FileHandle } from 'node:fs/promises';
import { spawnContainer, startContainer } from './oci/launch-container.js';
import { spawnOwn } from './own-child.js';
import type { Prepared, SandboxPlace } from './prepare-sandbox.js';
import { hasMounts } from './sandbox.js';
import { handOver, type Launched, launched } from './sandbox-child.js';
import { detachedArguments, sandboxArguments } from './sandbox-plan.js';
import { commandScript } from './sandbox-scripts.js';

/** Starts a command that ends with this process. `script` is what `handOver` has to send to it; null if there is none. */
export async function launchTied(
  { host }: SandboxPlace,
  id: string,
  { plan, command }: Prepared,
): Promise<{ child: ChildProcess; script: string | null }> {
  const { oci } = host;
  if (oci !== null) {
    return { child: await spawnContainer({ id, host: { ...host, oci }, plan, command }), script: null };
  }
  const script = commandScript(command.cwd, command.env, command.command);
  // At the other levels no namespace ends with the worker. The init notices its end by the end of descriptor 4.
  const lifeline = hasMounts(host.level) ? [] : (['pipe'] as const);
  const stdio = ['ignore', 'pipe', 'pipe', 'pipe', ...lifeline] as const;
  return { child: spawnOwn(sandboxArguments(host, plan), plan.marker, [...stdio]), script };
}

/** Starts a command that outlives this process. Rejects if its sandbox cannot be made; something of it may be left then. */
export async function launchDetached(
  { host }: SandboxPlace,
  id: string,
  { plan, command, cgroup }: Prepared,
  { output, exitFile, logFile }: { output: FileHandle; exitFile: string; logFile: string },
): Promise<Launched> {
  const { oci } = host;
  const oomFile = cgroup?.oomFile ?? null;
  if (oci !== null) {
    return startContainer({ id, host: { ...host, oci }, plan, command }, { output, exitFile, oomFile });
  }
  const argv = detachedArguments(host, plan, exitFile, oomFile ?? '');
  const child = await launched(spawnOwn(argv, plan.marker, ['ignore', output.fd, output.fd, 'pipe']));
  const made = await handOver(child.child, commandScript(command.cwd, command.env, command.command));
  if (!made) throw new Error(`The sandbox could not be made; the reason stands at the end of ${logFile}`);
  return child;
}

import type { ChildProcess } from 'node:child_process';
import { chmod, chown, type FileHandle, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { exists } from '../../shared/core/exists.js';
import { resultOf, runLimited } from '../../shared/core/run-limited.js';
import { removeTree } from '../core/remove-folders.js';
import { containerConfig } from './container-config.js';
import { overlayFolders, overlayLayers } from './container-mounts.js';
import { assertMountPaths } from './mount-paths.js';
import { RUNTIME_ENVIRONMENT, spawnOwn } from './own-child.js';
import { type Launched, launched } from './sandbox-child.js';
import { type ContainedHost, type HostedCommand, MAPPED_ROOT, type Plan } from './sandbox-plan.js';
import { noteStopSignal, pidFileOf } from './stop-signal.js';
import { makeVolumePoints, ownRoot, pointArguments, volumeArguments } from './volume-mounts.js';

export interface Container {
  id: string;
  host: ContainedHost;
  plan: Plan;
  command: HostedCommand;
}

function pathsOf({ plan: { scratch } }: Container) {
  return {
    bundle: join(scratch, 'bundle'),
    config: join(scratch, 'bundle', 'config.json'),
    state: stateOf(scratch),
    exits: join(scratch, 'exits'),
    pidFile: pidFileOf(scratch),
  };
}

export function stateOf(scratch: string): string {
  return join(scratch, 'state');
}

/**
 * While runc starts a command, it mounts its own binary in its state folder. If runc were killed then, that mount would
 * stay on the host, and the folder could not be removed. So runc gets a mount namespace. With `slave`, a mount that the
 * host removes also disappears from the namespace.
 */
export const OWN_MOUNTS: readonly string[] = ['unshare', '--mount', '--propagation', 'slave'];

/** Returns arguments to put before the runtime so that no other process sees the container's mounts. */
function mountsOf({ host, plan }: Container): string[] {
  const { level, oci } = host;
  const { mapped, image, directory, network } = plan;
  const volumesOf = volumeArguments(host, plan);
  // A rootless container with a network is created in the network's user namespace. There, the runtime can only mount
  // in a mount namespace that this user namespace owns.
  const needsOwn = level !== 'rootless' || network != null;
  if (!mapped) return needsOwn ? [...OWN_MOUNTS, ...volumesOf, ...pointArguments(host, plan)] : volumesOf;
  const root =
    mapped.process !== null && image !== null
      ? ['overlay', ['nodev', ...overlayLayers(oci, image, directory)].join(',')]
      : ['bind', oci.rootfs];
  return [...OWN_MOUNTS, ...volumesOf, '/bin/sh', oci.enter, ...root, MAPPED_ROOT];
}

/**
 * Returns the host with the root folder for this container. A container that uses the host's root and has volumes gets
 * a root folder of its own. All other containers get the shared root folder.
 */
function hostFor({ host, plan: { volumes, mapped, scratch } }: Container): ContainedHost {
  return volumes.length === 0 || mapped !== null ? host : { ...host, oci: { ...host.oci, rootfs: ownRoot(scratch) } };
}

/** Only the platform's user can read the configuration, because it contains the command's variables. */
async function writeBundle(container: Container): Promise<void> {
  const { plan, command, id } = container;
  const host = hostFor(container);
  const { bundle, config, exits } = pathsOf(container);
  const described = containerConfig(host, plan, command, id);
  const { upper, work } = overlayFolders(plan.directory);
  const root = plan.mapped === null || plan.image === null ? [container.host.oci.rootfs] : [plan.image, upper];
  await assertMountPaths(plan, described.mounts, root);
  if (plan.mapped === null) await makeVolumePoints(container.host, plan);
  // The kernel refuses to mount a volatile overlay again unless its work folder is new.
  if (plan.image !== null) await removeTree(work);
  const folders = plan.image === null ? [bundle, exits] : [bundle, exits, upper, work];
  await Promise.all(folders.map((folder) => mkdir(folder, { recursive: true, mode: 0o700 })));
  if (plan.image !== null && plan.mapped) {
    // The root of an overlay has the owner and mode of its upper folder.
    await chown(upper, plan.mapped.firstUser, plan.mapped.firstUser);
    await chmod(upper, 0o755);
  }
  await writeFile(config, JSON.stringify(described), { mode: 0o600 });
}

/**
 * Starts a container that is killed when this process dies. The runtime keeps the cgroup after the command has ended,
 * so that it can be checked for an OOM kill.
 */
export async function spawnContainer(container: Container): Promise<ChildProcess> {
  await writeBundle(container);
  const { host, plan, id } = container;
  const { bundle, config, state } = pathsOf(container);
  const keep = host.cgroups === null ? [] : ['--keep'];
  const run = ['--root', state, 'run', ...keep, '--preserve-fds', '1', '--bundle', bundle, id];
  const joining = plan.network?.join ?? [];
  const argv = [...joining, 'setpriv', '--pdeathsig', 'KILL', ...mountsOf(container), host.oci.runtime, ...run];
  const child = spawnOwn(argv, plan.marker, ['ignore', 'pipe', 'pipe', 'pipe']);
  child.stdio[3]?.once('data', () => void rm(config, { force: true }).catch(() => undefined));
  return child;
}

/** Starts a container that outlives this process. If it rejects, parts of the container may be left. */
export async function startContainer(
  container: Container,
  { output, exitFile, oomFile }: { output: FileHandle; exitFile: string; oomFile: string | null },
): Promise<Launched> {
  await writeBundle(container);
  await noteStopSignal(container.plan.scratch, container.plan.mapped?.process?.stopSignal);
  const { host, plan, id } = container;
  const { bundle, config, state, exits, pidFile } = pathsOf(container);
  const { oci } = host;
  const own = ['--sync', '--api-version', '1', '--runtime', oci.runtime];
  const root = ['--runtime-arg', '--root', '--runtime-arg', state];
  const about = ['--bundle', bundle, '--cid', id, '--cuuid', id, '--name', id, '--container-pidfile', pidFile];
  const streams = ['--log-path', 'passthrough', '--full-attach', '--exit-dir', exits];
  const record = [oci.record, join(exits, id), oomFile ?? '', exitFile].flatMap((word) => ['--exit-command-arg', word]);
  const exit = ['--exit-command', '/bin/sh', ...record];
  const program = [oci.conmon, ...own, ...root, ...about, ...streams, ...exit];
  const argv = [...(plan.network?.join ?? []), ...mountsOf(container), ...program];
  // The command's user must own its log: if no worker reads the log, the init truncates it as that user.
  await output.chown(plan.uid, plan.uid);
  const child = spawnOwn(argv, plan.marker, ['ignore', output.fd, output.fd, 'pipe'], { _OCI_SYNCPIPE: '3' });
  const channel = child.stdio[3] as Readable;
  try {
    const conmon = await launched(child);
    const problem = await problemOf(channel);
    if (problem !== null) throw new Error(`The sandbox could not be made: ${problem}`);
    await runLimited(oci.runtime, ['--root', state, 'start', id], { env: RUNTIME_ENVIRONMENT });
    return conmon;
  } finally {
    channel.destroy();
    await rm(config, { force: true });
  }
}

/**
 * Deletes a container whose runtime was killed before it started the command. The container's first process would wait
 * for the runtime forever, and has no mark in its environment yet.
 */
export async function endUnstarted(runtime: string, scratch: string, id: string): Promise<void> {
  const state = stateOf(scratch);
  if (await exists(join(state, id))) await resultOf(runtime, ['--root', state, 'delete', '--force', id]);
}

/** Returns why conmon could not create the container; null if it has created it. */
async function problemOf(channel: Readable): Promise<string | null> {
  let text = '';
  for await (const chunk of channel) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  if (text === '') return 'conmon ended without a word';
  const { data, message } = JSON.parse(text) as { data: number; message?: string };
  return data > 0 ? null : (message ?? `the runtime ended with ${data}`);
}

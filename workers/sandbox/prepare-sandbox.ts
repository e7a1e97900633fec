import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from '../../shared/core/log.js';
import { identityOf } from '../../shared/core/process-identity.js';
import type { HostNetwork } from '../network/host-network.js';
import type { NetworkSpec } from '../network/network-model.js';
import { type Cgroup, prepareCgroup } from './cgroup.js';
import { guardPorts, type PortRange } from './port-guard.js';
import { MARKER } from './process-table.js';
import type { SandboxBase, SandboxSpec } from './sandbox.js';
import {
  APP_PATH,
  HOME_PATH,
  type Host,
  joinBelow,
  type Place,
  type Plan,
  searchPath,
  USUAL_PATH,
} from './sandbox-plan.js';
import { prepareScratch } from './scratch-folder.js';
import { firstImageUser, uidOf } from './service-users.js';

export interface SandboxPlace {
  log: Logger;
  dataDir: string;
  host: Host;
  init: string;
  /** Null if the host cannot prevent a sandbox from binding the port of another sandbox. */
  guardedPorts: PortRange | null;
}

export interface Made extends Place {
  cgroup: Cgroup | null;
}

export function scratchRoot(dataDir: string): string {
  return join(dataDir, 'sandboxes');
}

/** Creates the folders, cgroup and network of a sandbox. If it rejects, some of them may be left. */
export async function makeSandbox(
  place: SandboxPlace,
  spec: SandboxBase & Pick<SandboxSpec, 'image' | 'writable' | 'tools' | 'port' | 'process' | 'imageTools'>,
  { tied, network }: { tied: boolean; network: HostNetwork | null },
): Promise<Made> {
  const { host } = place;
  const scratch = join(scratchRoot(place.dataDir), spec.id);
  const uid = ownerOfFiles(host, spec);
  const owner = tied ? await identityOf(process.pid) : null;
  const attached = network?.attach(spec.id, spec.network ?? aloneIn(spec), spec.port) ?? Promise.resolve(null);
  const folders = makeFolders(place, spec, { scratch, uid, owner, hasNetwork: network !== null });
  const [made, joined] = await Promise.allSettled([folders, attached]);
  if (made.status === 'rejected') throw made.reason;
  if (joined.status === 'rejected') throw joined.reason;
  return { scratch, uid, ...made.value, network: joined.value };
}

/** Returns the plan and the command of a sandbox. All its processes get `marker` in their environment. */
export function prepareCommand(
  { host }: SandboxPlace,
  spec: SandboxSpec,
  { cgroup, ...place }: Made,
  { marker, tied }: { marker: string; tied: boolean },
) {
  const inside = host.oci !== null;
  const { process, command, limits, writable = [], volumes = [], tools = [] } = spec;
  const usual: Record<string, string> =
    process !== undefined
      ? { PATH: USUAL_PATH.join(':') }
      : {
          PATH: searchPath(host, tools),
          HOME: inside ? HOME_PATH : join(place.scratch, 'home'),
          TMPDIR: inside ? '/tmp' : join(place.scratch, 'tmp'),
        };
  const env = { ...usual, ...spec.env, [MARKER]: marker };
  const cwd = joinBelow(process !== undefined ? '/' : inside ? APP_PATH : place.directory, spec.cwd);
  const mapped = isMapped(spec) ? { firstUser: firstImageUser(), process: process ?? null } : null;
  const plan: Plan = { ...place, marker, writable, volumes, tools, limits, tied, mapped };
  return { plan, cgroup, command: { cwd, env, command } };
}

export type Prepared = ReturnType<typeof prepareCommand>;

function isMapped({ process, imageTools }: Pick<SandboxSpec, 'process' | 'imageTools'>): boolean {
  return process !== undefined || imageTools === true;
}

function ownerOfFiles(host: Host, spec: Parameters<typeof makeSandbox>[1]): number {
  if (!isMapped(spec)) return userOf(host, spec.userNumber);
  return firstImageUser() + (spec.process?.user.uid ?? 0);
}

/** Returns the Linux user ID with which the host runs the commands of a service. */
export function userOf({ level }: Pick<Host, 'level'>, userNumber: number): number {
  return level === 'rootless' ? (process.getuid?.() ?? 0) : uidOf(userNumber);
}

async function makeFolders(
  { log, dataDir, host, guardedPorts }: SandboxPlace,
  spec: Parameters<typeof makeSandbox>[1],
  {
    hasNetwork,
    ...own
  }: Pick<Parameters<typeof prepareScratch>[0], 'scratch' | 'uid' | 'owner'> & { hasNetwork: boolean },
) {
  const { level, overlay, cgroups } = host;
  const folders = await prepareScratch({ ...spec, ...own, mounted: overlay, dataDir, log, level });
  const cgroup = cgroups === null ? null : await prepareCgroup(cgroups, spec.id, spec.limits);
  // A sandbox with its own network has ports of its own.
  if (!hasNetwork && guardedPorts !== null && cgroup !== null && cgroup.sockets !== null) {
    await guardPorts(cgroup.sockets, guardedPorts, spec.port ?? 0);
  }
  return { ...folders, cgroup };
}

function aloneIn({ id }: SandboxBase): NetworkSpec {
  const scope = `sandbox-${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
  return { scope, use: 'build', hostName: '' };
}

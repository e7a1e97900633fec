import { createHash, randomUUID } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import type { Logger } from '../../shared/core/log.js';
import type { HostNetworks } from '../network/open-network.js';
import { type CgroupRoots, detectCgroups, TRIAL } from './cgroup.js';
import { findContainers, USUAL_RUNTIMES, writeInit } from './container-host.js';
import { HostSandbox } from './host-sandbox.js';
import { type PortRange, portGuardProblem } from './port-guard.js';
import type { Sandbox, SandboxLevel } from './sandbox.js';
import { strongest } from './sandbox-level.js';
import { allowTraversal } from './scratch-folder.js';
import { isRoot, protectLinks, settleUsers } from './service-users.js';

export interface SandboxOptions {
  log: Logger;
  /**
   * This folder is hidden from every command. A hash of its path marks this platform's processes, because another
   * installation may run on the same host.
   */
  dataDir: string;
  /** By default the strongest level that works. `createSandbox` throws if the given level does not work. */
  level?: SandboxLevel;
  /** With `required`, only OCI containers are accepted. */
  isolation?: 'auto' | 'required';
  ociRuntime?: string;
  /** The ports of RUNTIME_PORTS. Only the replica to which a port is assigned may listen on that port. */
  ports?: PortRange;
  /** If absent, commands share the host's network. */
  network?: (level: SandboxLevel) => Promise<HostNetworks>;
}

/** Tests what this host allows and returns the strongest sandbox. Throws if no command can run. */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { log, dataDir, level, ports, network, isolation = 'auto', ociRuntime = 'auto' } = options;
  await mkdir(dataDir, { recursive: true });
  const real = await realpath(dataDir);
  const token = createHash('sha256').update(real).digest('hex').slice(0, 16);
  if (isRoot()) await settleUsers(real);
  const explain = (why: string) => {
    const text = `memory, processes and cpu are not limited by control groups: ${why}`;
    // Without root, cgroups are seldom available, and a later message about the sandbox level says so.
    if (isRoot()) log.warn(text);
    else log.debug(text);
  };
  const isPossible = process.platform === 'linux' && level !== 'none';
  const cgroups = isPossible ? await detectCgroups(`ranvier-${token}`, explain) : null;
  const runtimes = ociRuntime === 'auto' ? USUAL_RUNTIMES : [ociRuntime];
  const oci = isPossible ? await findContainers(real, cgroups, runtimes) : [];
  const guardedPorts = ports === undefined ? null : await usableGuard(cgroups, ports, log);
  const init = await writeInit(real);
  const onlyContainers = isolation === 'required' || ociRuntime !== 'auto';
  const sandbox = await strongest({ dataDir: real, log, oci, cgroups, onlyContainers, forced: level }, async (host) => {
    if (host.level === 'none' && isRoot()) {
      await protectLinks();
      await allowTraversal(real, init);
    }
    return new HostSandbox({ log, dataDir: real, token, host, init, guardedPorts });
  });
  if (network !== undefined) sandbox.useNetworks(await network(sandbox.level));
  return sandbox;
}

async function usableGuard(cgroups: CgroupRoots | null, ports: PortRange, log: Logger): Promise<PortRange | null> {
  const root = cgroups?.sockets ?? null;
  const problem =
    root === null
      ? 'it needs root and control groups of version 2'
      : await portGuardProblem(root, `${TRIAL}${randomUUID()}`, ports);
  if (problem === null) return ports;
  log.warn(
    `a hosted process can listen on the ports of another one (RUNTIME_PORTS); nothing here prevents it: ${problem}`,
  );
  return null;
}

import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import type { Logger } from '../../shared/core/log.js';
import { withTimeLimit } from '../../shared/core/time-limit.js';
import type { SandboxLevel } from '../sandbox/sandbox.js';
import { isRoot } from '../sandbox/service-users.js';
import { HostNetwork } from './host-network.js';
import { hostAddresses, settingsOf, tokenOf } from './network-settings.js';
import { tryOut } from './network-trial.js';
import { freeUplink, RootlessNamespace } from './rootless-namespace.js';
import { UPLINK_NAME } from './rootless-processes.js';
import { runTool } from './run-tool.js';

interface Deps {
  config: Config;
  log: Logger;
}

const TRIAL_MS = 30_000;

/** Sets up a network without root, through slirp4netns. Rejects if the host does not support it. */
export async function openRootless(deps: Deps, level: SandboxLevel): Promise<HostNetwork> {
  if (process.platform !== 'linux' || isRoot()) throw new Error('the platform is root, or not on Linux');
  if (level !== 'rootless') throw new Error('this host gives hosted processes no user namespaces');
  const tools = { slirp4netns: '--version', ip: '-V', nft: '--version', nsenter: '-V' };
  for (const [tool, flag] of Object.entries(tools)) {
    await runTool(tool, [flag]).catch(() => {
      throw new Error(`${tool} is not installed`);
    });
  }
  await mkdir(deps.config.dataDir, { recursive: true });
  const dataDir = await realpath(deps.config.dataDir);
  const { network, uplink } = await prepareRootless(deps, dataDir);
  try {
    const late = () => new Error(`the trial took longer than ${TRIAL_MS / 1000} s`);
    const trial = network.open().then(() => tryOut(network, uplink.gateway));
    await withTimeLimit(trial, TRIAL_MS, late);
    await network.sweep();
    deps.log.info({ uplink: uplink.range }, 'hosted processes have networks of their own, through slirp4netns');
    return network;
  } catch (error) {
    await network.close().catch(() => undefined);
    throw error;
  }
}

/** Returns a rootless network that is not open yet, and its uplink. */
export async function prepareRootless({ config, log }: Deps, dataDir: string) {
  // In the parent namespace the platform has user ID 0, and no other user may connect to replicas.
  const settings = await settingsOf(dataDir, config, { edgeUsers: [0], taken: [] });
  const named = [...settings.sources, ...settings.publicEndpoints].map(({ address }) => address);
  const uplink = freeUplink([...settings.egressAllow, ...named, settings.block]);
  const parent = new RootlessNamespace({
    folder: join(dataDir, 'network'),
    token: tokenOf(dataDir),
    network: uplink,
    reachesLoopback: settings.loopbackPorts.length > 0,
    ports: config.runtimePorts,
    log,
  });
  const { address, gateway, resolver } = uplink;
  const network = new HostNetwork(
    {
      ...settings,
      resolvers: [resolver],
      loopbackResolver: null,
      uplink: { link: UPLINK_NAME, address, gateway, hostAddresses: hostAddresses() },
    },
    log,
    parent,
  );
  return { network, uplink };
}

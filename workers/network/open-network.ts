import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import type { SandboxLevel } from '../sandbox/sandbox.js';
import { isRoot } from '../sandbox/service-users.js';
import { HostNetwork } from './host-network.js';
import { gatewayOf, namePrefix, overlaps } from './network-model.js';
import { tableName } from './network-rules.js';
import { settingsOf, tokenOf } from './network-settings.js';
import { tryOut } from './network-trial.js';
import { openRootless, prepareRootless } from './open-rootless.js';
import { foreignNetworks, removeAbandonedNetworks } from './other-installations.js';
import { HOST_NAMESPACE, strays } from './parent-namespace.js';
import { nft } from './run-tool.js';
import { SlotFiles } from './slot-files.js';

interface Deps {
  config: Config;
  log: Logger;
  edgeUsers: readonly number[];
}

export interface HostNetworks {
  /** The network for new sandboxes; null if they share the host's network. */
  current: HostNetwork | null;
  /** The network of all sandboxes that have one, including older sandboxes; null if no sandbox has one. */
  all: HostNetwork | null;
}

const FORWARDING = '/proc/sys/net/ipv4/ip_forward';
const BLOCK_TRIES = 4;

const NEEDS = {
  namespaces: 'root, ip, nft, nsenter and net.ipv4.ip_forward',
  rootless: 'slirp4netns, ip, nft, nsenter, user namespaces and a /dev/net/tun that every user may open',
} as const;

/** Opens the networks of this host. Rejects if the host does not support the kind that NETWORK demands. */
export async function openNetwork(deps: Deps, level: SandboxLevel): Promise<HostNetworks> {
  const { config, log } = deps;
  if (config.network === 'shared') {
    log.info('hosted processes share the network of the host (NETWORK=shared)');
    return { current: null, all: await openRemaining(deps, level) };
  }
  const way = config.network === 'auto' ? (level === 'rootless' ? 'rootless' : 'namespaces') : config.network;
  try {
    const network = await (way === 'rootless' ? openRootless(deps, level) : openIsolated(deps, level));
    return { current: network, all: network };
  } catch (error) {
    const why = `${errorMessage(error)}; a network for each needs ${NEEDS[way]} (docs/security.md)`;
    if (config.network !== 'auto') throw new Error(`NETWORK=${way} is not possible on this host: ${why}`);
    log.warn(`hosted processes share the network of the host, and reach everything on it: ${why}`);
    return { current: null, all: await openRemaining(deps, level) };
  }
}

async function openIsolated(deps: Deps, level: SandboxLevel): Promise<HostNetwork> {
  const { config, log } = deps;
  if (process.platform !== 'linux' || !isRoot()) throw new Error('the platform is not root on Linux');
  if (level !== 'root') throw new Error('this host gives hosted processes no namespaces');
  await mkdir(config.dataDir, { recursive: true });
  const dataDir = await realpath(config.dataDir);
  await nft('list tables\n');
  await removeAbandonedNetworks(tokenOf(dataDir));
  const turnedOn = await allowForwarding(log);
  let opened: HostNetwork | null = null;
  try {
    const { network, settings } = await claimBlock(deps, dataDir);
    opened = network;
    // A host that has just started may be too busy to respond in time, so try twice.
    const trial = () => tryOut(network, gatewayOf(settings.block));
    await trial().catch(trial);
    await network.sweep();
    log.info(
      { block: settings.block, table: `inet ${tableName(settings.token)}`, sources: settings.sources.length },
      'hosted processes have networks of their own',
    );
    return network;
  } catch (error) {
    await opened?.close();
    if (turnedOn && (await foreignNetworks(tokenOf(dataDir))).length === 0)
      await writeFile(FORWARDING, '0').catch(() => undefined);
    throw error;
  }
}

/** Older sandboxes keep their namespaces, although new sandboxes share the host's network. */
async function openRemaining(deps: Deps, level: SandboxLevel): Promise<HostNetwork | null> {
  const { config, log } = deps;
  if (process.platform !== 'linux' || level === 'none') return null;
  try {
    const dataDir = await realpath(config.dataDir);
    const used = await new SlotFiles(join(dataDir, 'network')).all();
    const isRootless = level === 'rootless';
    const left = isRootless ? [] : await strays(HOST_NAMESPACE, namePrefix(tokenOf(dataDir)));
    if (used.length + left.length === 0) return null;
    const { network } = await (isRootless ? prepareRootless(deps, dataDir) : claimBlock(deps, dataDir));
    if (isRootless) await network.open();
    await network.sweep();
    log.info({ sandboxes: used.length }, 'networks of older hosted processes stay until these end');
    return network;
  } catch (error) {
    log.warn({ err: error }, `networks of older hosted processes stay as they are: ${errorMessage(error)}`);
    return null;
  }
}

/**
 * If two installations start at the same time and choose the same block, each sees the other's rules, and the
 * installation with the greater token chooses again.
 */
async function claimBlock({ config, edgeUsers, log }: Deps, dataDir: string) {
  for (let tries = 0; ; tries++) {
    const taken = (await foreignNetworks(tokenOf(dataDir))).map(({ block }) => block);
    const settings = await settingsOf(dataDir, config, { edgeUsers, taken });
    const network = new HostNetwork(settings, log);
    await network.open();
    const clash = (await foreignNetworks(settings.token)).find(
      ({ token, block }) => token < settings.token && overlaps(block, settings.block),
    );
    if (clash === undefined) return { network, settings };
    if (tries === BLOCK_TRIES) throw new Error(`${clash.dataDir} has the addresses ${settings.block} too`);
  }
}

/** Enables IP forwarding. Returns true if it was off before. */
async function allowForwarding(log: Logger): Promise<boolean> {
  if ((await readFile(FORWARDING, 'utf8')).trim() === '1') return false;
  await writeFile(FORWARDING, '1').catch((error: unknown) => {
    throw new Error(`net.ipv4.ip_forward cannot be enabled (${errorMessage(error)})`);
  });
  log.info('net.ipv4.ip_forward is on now: hosted processes reach the internet through this host');
  return true;
}

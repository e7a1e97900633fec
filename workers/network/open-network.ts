import { createHash } from 'node:crypto';
import { access, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/errors.js';
import { exists } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import type { SandboxLevel } from '../sandbox/sandbox.js';
import { isRoot } from '../sandbox/service-users.js';
import { HostNetwork, removeStrays, strays } from './host-network.js';
import {
  hostPackageSettings,
  isLoopback,
  type NamedPlace,
  placesIn,
  resolvePlaces,
  resolversOf,
} from './named-places.js';
import { chooseBlock, isBlock, namePrefix, overlaps } from './network-model.js';
import { type Endpoint, NETWORK_TABLE, type NetworkSettings, tableName } from './network-rules.js';
import { nft, runTool } from './run-tool.js';
import { SlotFiles } from './slot-files.js';

interface Deps {
  config: Config;
  log: Logger;
  /** The users that may connect to replicas. */
  edgeUsers: readonly number[];
}

/** The networks of one host. */
export interface HostNetworks {
  /** The network of new sandboxes; null if they share the network of the host. */
  current: HostNetwork | null;
  /** The network of all sandboxes that have one, older ones included; null if none has. */
  all: HostNetwork | null;
}

const FORWARDING = '/proc/sys/net/ipv4/ip_forward';
const TRIAL_MS = 5_000;
const BLOCK_TRIES = 4;

/**
 * Opens the networks of this host as NETWORK says, and logs what was chosen and why. Rejects if NETWORK=namespaces and the
 * host does not allow it. `level` is what sandboxes are on this host.
 */
export async function openNetwork(deps: Deps, level: SandboxLevel): Promise<HostNetworks> {
  const { config, log } = deps;
  if (config.network === 'shared') {
    log.info('hosted processes share the network of the host (NETWORK=shared)');
    return { current: null, all: await openRemaining(deps, level) };
  }
  try {
    const network = await openIsolated(deps, level);
    return { current: network, all: network };
  } catch (error) {
    const needs = 'a network for each needs root, ip, nft, nsenter and net.ipv4.ip_forward (docs/security.md)';
    if (config.network === 'namespaces') {
      throw new Error(`NETWORK=namespaces is not possible on this host: ${errorMessage(error)}; ${needs}`);
    }
    log.warn(
      `hosted processes share the network of the host, and reach everything on it: ${errorMessage(error)}; ${needs}`,
    );
    return { current: null, all: await openRemaining(deps, level) };
  }
}

/** Opens a network in which each sandbox has a namespace. Rejects with the reason if the host does not allow it. */
async function openIsolated({ config, log, edgeUsers }: Deps, level: SandboxLevel): Promise<HostNetwork> {
  if (process.platform !== 'linux' || !isRoot()) throw new Error('the platform is not root on Linux');
  if (level !== 'namespaces') throw new Error('this host gives hosted processes no namespaces');
  await mkdir(config.dataDir, { recursive: true });
  const dataDir = await realpath(config.dataDir);
  await nft('list tables\n');
  await removeAbandoned(tokenOf(dataDir));
  const turnedOn = await allowForwarding(log);
  let opened: HostNetwork | null = null;
  try {
    const { network, settings } = await claimBlock(dataDir, config, edgeUsers, log);
    opened = network;
    // A host that has just started may be too busy to answer in time.
    await tryOut(network).catch(() => tryOut(network));
    await network.sweep();
    log.info(
      { block: settings.block, table: `inet ${tableName(settings.token)}`, sources: settings.sources.length },
      'hosted processes have networks of their own',
    );
    return network;
  } catch (error) {
    await opened?.close();
    if (turnedOn && (await otherTables(tokenOf(dataDir))).length === 0)
      await writeFile(FORWARDING, '0').catch(() => undefined);
    throw error;
  }
}

/**
 * Sandboxes share the network of the host from now on, but older ones may still have namespaces: their rules stay, and each
 * namespace is removed with its sandbox. Null if there is none, or if this worker cannot see to it.
 */
async function openRemaining({ config, log, edgeUsers }: Deps, level: SandboxLevel): Promise<HostNetwork | null> {
  if (process.platform !== 'linux' || !isRoot() || level !== 'namespaces') return null;
  try {
    const dataDir = await realpath(config.dataDir);
    const used = await new SlotFiles(join(dataDir, 'network')).all();
    if (used.length === 0 && (await strays(namePrefix(tokenOf(dataDir)))).length === 0) return null;
    const { network } = await claimBlock(dataDir, config, edgeUsers, log);
    await network.sweep();
    log.info({ sandboxes: used.length }, 'networks of older hosted processes stay until these end');
    return network;
  } catch (error) {
    log.warn({ err: error }, `networks of older hosted processes stay as they are: ${errorMessage(error)}`);
    return null;
  }
}

/** Marks what belongs to the installation of this data folder. */
function tokenOf(dataDir: string): string {
  return createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
}

/**
 * Sets the rules with a block of addresses that no other installation of the host has. Of two that start at the same time
 * and choose the same block, each sees the other's rules, and the one with the greater token chooses again.
 */
async function claimBlock(dataDir: string, config: Config, edgeUsers: readonly number[], log: Logger) {
  for (let tries = 0; ; tries++) {
    const settings = await settingsOf(dataDir, config, edgeUsers);
    const network = new HostNetwork(settings, log);
    await network.open();
    const clash = (await otherTables(settings.token)).find(
      ({ token, block }) => token < settings.token && overlaps(block, settings.block),
    );
    if (clash === undefined) return { network, settings };
    if (tries === BLOCK_TRIES) throw new Error(`${clash.dataDir} has the addresses ${settings.block} too`);
  }
}

async function settingsOf(dataDir: string, config: Config, edgeUsers: readonly number[]): Promise<NetworkSettings> {
  const token = tokenOf(dataDir);
  const [resolvConf, upstreamConf, packages] = await Promise.all([
    readFile('/etc/resolv.conf', 'utf8').catch(() => ''),
    readFile('/run/systemd/resolve/resolv.conf', 'utf8').catch(() => ''),
    hostPackageSettings(),
  ]);
  const { reachable, loopback } = resolversOf(resolvConf, upstreamConf);
  const named = await resolvePlaces([...placesIn(config.buildEnvironment), ...placesIn(packages)]);
  return {
    token,
    dataDir,
    block: await settleBlock(token, dataDir, [...reachable, ...config.egressAllow]),
    resolvers: reachable,
    loopbackResolver: loopback,
    egressAllow: config.egressAllow.filter((range) => !inAnother(range, config.egressAllow)),
    sources: named.filter(({ address }) => !isLoopback(address)),
    loopbackPorts: [...new Set(named.filter(({ address }) => isLoopback(address)).map(({ port }) => port))].sort(
      (a, b) => a - b,
    ),
    loopbackForAll: config.egressAllow.some((range) => overlaps(range, '127.0.0.1')),
    publicEndpoints: await publicEndpoints(config),
    edgeUsers,
  };
}

/** True if another range of the list contains this one: nft refuses a list in which ranges overlap. */
function inAnother(range: string, all: readonly string[]): boolean {
  const bits = (text: string) => Number(text.split('/')[1] ?? 32);
  return all.some((other, i) => {
    if (!overlaps(range, other)) return false;
    return bits(other) < bits(range) || (bits(other) === bits(range) && i < all.indexOf(range));
  });
}

/** Where this host serves the public: the API and the edge, if their names lead to a public address of this host. */
async function publicEndpoints(config: Config): Promise<Endpoint[]> {
  const url = new URL(config.publicUrl);
  const apiPort = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const places: NamedPlace[] = [{ host: url.hostname.replace(/^\[|\]$/g, ''), port: apiPort }];
  const { edgeDomain, edgePort, edgeTls } = config;
  for (const port of [edgePort, ...(edgeTls === null ? [] : [edgeTls.port])]) places.push({ host: edgeDomain, port });
  const own = new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
  const found = await resolvePlaces(places.filter(({ host }) => !/(^|\.)localhost$/.test(host)));
  return found.filter(({ address }) => own.has(address) && ipaddr.parse(address).range() === 'unicast');
}

/** The installation's block of addresses, kept in DATA_DIR. It changes if the host got a route to it and nothing uses it. */
async function settleBlock(token: string, dataDir: string, alsoUsed: readonly string[]): Promise<string> {
  const folder = join(dataDir, 'network');
  const file = join(folder, 'block');
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const used = [...(await routedRanges(namePrefix(token))), ...(await blocksOfOthers(token)), ...alsoUsed];
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (isBlock(kept)) {
    const free = !used.some((range) => overlaps(kept, range));
    if (free || (await new SlotFiles(folder).ids()).length > 0) return kept;
  }
  const block = chooseBlock(token, used);
  if (block === null) throw new Error('every block of addresses below 10.64.0.0/10 is in use on this host');
  await writeFile(file, `${block}\n`, { mode: 0o600 });
  return block;
}

/** The destinations of this host's routes, without those to our own namespaces. */
async function routedRanges(prefix: string): Promise<string[]> {
  const routes = JSON.parse((await runTool('ip', ['-4', '-j', 'route', 'show', 'table', 'all'])) || '[]') as {
    dst: string;
    dev?: string;
  }[];
  return routes.filter(({ dev }) => !dev?.startsWith(prefix)).map(({ dst }) => dst);
}

interface ForeignTable {
  token: string;
  block: string;
  dataDir: string;
}

/** The tables of other installations of this host. */
async function otherTables(token: string): Promise<ForeignTable[]> {
  const found: ForeignTable[] = [];
  for (const [, other = ''] of (await nft('list tables\n')).matchAll(
    new RegExp(`^table inet ${NETWORK_TABLE}([0-9a-f]{16})$`, 'gm'),
  )) {
    if (other === token) continue;
    const text = await nft(`list table inet ${tableName(other)}\n`).catch(() => '');
    const [, block, dataDir] = /^\s*comment "(\S+) (\/[^"]*)"$/m.exec(text) ?? [];
    if (block !== undefined && dataDir !== undefined) found.push({ token: other, block, dataDir });
  }
  return found;
}

async function blocksOfOthers(token: string): Promise<string[]> {
  return (await otherTables(token)).map(({ block }) => block);
}

/** Removes what installations left whose data folder is gone. */
async function removeAbandoned(token: string): Promise<void> {
  for (const other of await otherTables(token)) {
    if (await exists(other.dataDir)) continue;
    await removeStrays(namePrefix(other.token)).catch(() => undefined);
    await nft(`delete table inet ${tableName(other.token)}\n`).catch(() => undefined);
  }
}

/** Lets the host forward packets. Returns true if it did not before. */
async function allowForwarding(log: Logger): Promise<boolean> {
  if ((await readFile(FORWARDING, 'utf8')).trim() === '1') return false;
  await writeFile(FORWARDING, '1').catch((error: unknown) => {
    throw new Error(`net.ipv4.ip_forward cannot be enabled (${errorMessage(error)})`);
  });
  log.info('net.ipv4.ip_forward is on now: hosted processes reach the internet through this host');
  return true;
}

/**
 * Makes two namespaces of one network, and connects from the host to one of them and from one to the other. A firewall of
 * the host may drop what it forwards, for instance that of Docker if it was started first.
 */
async function tryOut(network: HostNetwork): Promise<void> {
  await access('/usr/bin/nsenter').catch(() => runTool('nsenter', ['--version']));
  const scope = 'trial';
  const ids = [1, 2].map((number) => `trial-${process.pid}-${Date.now()}-${number}`);
  try {
    const [first, second] = await Promise.all(
      ids.map((id) => network.attach(id, { scope, use: 'build', hostName: '' })),
    );
    if (first === undefined || second === undefined) return;
    if (!(await answers(second.address))) throw new Error('the host cannot reach a namespace');
    const program = `
      const socket = require('node:net').connect({ host: '${first.address}', port: 9 });
      socket.setTimeout(${TRIAL_MS}, () => socket.destroy(new Error('no answer')));
      socket.on('error', ({ code }) => { process.exitCode = code === 'ECONNREFUSED' ? 0 : 1; });`;
    await runTool('nsenter', [`--net=${second.namespace}`, process.execPath, '-e', program]).catch(() => {
      throw new Error(
        'another firewall of this host drops what it forwards; with Docker run ' +
          `"iptables -I DOCKER-USER -i rv+ -j ACCEPT; iptables -I DOCKER-USER -o rv+ -j ACCEPT"`,
      );
    });
  } finally {
    for (const id of ids) await network.release(id).catch(() => undefined);
  }
}

/** True if a machine says that nothing listens on its port 9. */
function answers(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 9 });
    const end = (does: boolean) => {
      socket.destroy();
      resolve(does);
    };
    socket.setTimeout(TRIAL_MS, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'));
  });
}

import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../shared/core/config.js';
import {
  hostPackageSettings,
  isLoopback,
  type NamedServer,
  resolversOf,
  resolveServers,
  serversIn,
} from './configured-servers.js';
import { type ConnectionBounds, connectionBounds, FORGETS_TRIAL } from './connection-bounds.js';
import { chooseBlock, isBlock, namePrefix, overlaps } from './network-model.js';
import type { Endpoint, NetworkSettings } from './network-rules.js';
import { runTool } from './run-tool.js';
import { SlotFiles } from './slot-files.js';

/** Returns the token that marks what belongs to the installation with this data folder. */
export function tokenOf(dataDir: string): string {
  return createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
}

/** Determines the settings of this host's network. Its address block overlaps none of the ranges in `taken`. */
export async function settingsOf(
  dataDir: string,
  config: Config,
  { edgeUsers, taken }: { edgeUsers: readonly number[]; taken: readonly string[] },
): Promise<NetworkSettings> {
  const token = tokenOf(dataDir);
  const [resolvConf, upstreamConf, packages] = await Promise.all([
    readFile('/etc/resolv.conf', 'utf8').catch(() => ''),
    readFile('/run/systemd/resolve/resolv.conf', 'utf8').catch(() => ''),
    hostPackageSettings(),
  ]);
  const { reachable, loopback } = resolversOf(resolvConf, upstreamConf);
  const named = await resolveServers([...serversIn(config.buildEnvironment), ...serversIn(packages)]);
  return {
    token,
    dataDir,
    block: await settleBlock(token, dataDir, [...reachable, ...config.egressAllow, ...taken]),
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
    uplink: null,
    connections: await hostConnectionBounds(),
  };
}

async function hostConnectionBounds(): Promise<ConnectionBounds> {
  const tracked = await readFile('/proc/sys/net/netfilter/nf_conntrack_max', 'utf8').catch(() => '');
  const forgets = await runTool('nft', ['--check', '--file', '-'], FORGETS_TRIAL).then(
    () => true,
    () => false,
  );
  return connectionBounds(Number(tracked) || 0, forgets);
}

/** Returns true if another range of the list covers this range. nft refuses a list with overlapping ranges. */
function inAnother(range: string, all: readonly string[]): boolean {
  const bits = (text: string) => Number(text.split('/')[1] ?? 32);
  return all.some((other, i) => {
    if (!overlaps(range, other)) return false;
    return bits(other) < bits(range) || (bits(other) === bits(range) && i < all.indexOf(range));
  });
}

async function publicEndpoints(config: Config): Promise<Endpoint[]> {
  const url = new URL(config.publicUrl);
  const apiPort = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const places: NamedServer[] = [{ host: url.hostname.replace(/^\[|\]$/g, ''), port: apiPort }];
  const { edgeDomain, edgePort, edgeTls } = config;
  for (const port of [edgePort, ...(edgeTls === null ? [] : [edgeTls.port])]) places.push({ host: edgeDomain, port });
  const own = new Set(hostAddresses());
  const found = await resolveServers(places.filter(({ host }) => !/(^|\.)localhost$/.test(host)));
  return found.filter(({ address }) => own.has(address) && ipaddr.parse(address).range() === 'unicast');
}

/** Returns this host's own addresses, without loopback. */
export function hostAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return [...new Set(all.filter(({ internal }) => !internal).map(({ address }) => address))];
}

type Route = { dst: string; dev?: string };

/** The stored block stays while a sandbox uses it, even if one of the host's routes overlaps it. */
async function settleBlock(token: string, dataDir: string, alsoUsed: readonly string[]): Promise<string> {
  const folder = join(dataDir, 'network');
  const file = join(folder, 'block');
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const routes = JSON.parse((await runTool('ip', ['-4', '-j', 'route', 'show', 'table', 'all'])) || '[]') as Route[];
  const others = routes.filter(({ dev }) => !dev?.startsWith(namePrefix(token)));
  const used = [...others.map(({ dst }) => dst), ...alsoUsed];
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

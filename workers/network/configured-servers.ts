import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { OWN_PATH } from '../core/own-programs.js';
import type { Endpoint } from './network-rules.js';

const LOOKUP_MS = 5_000;
const SCHEME_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443, 'socks5:': 1080, 'socks:': 1080 };

export interface NamedServer {
  host: string;
  port: number;
}

/** Extracts servers from URLs in settings. The value of a proxy variable may be `host:port` instead of a URL. */
export function serversIn(settings: Readonly<Record<string, string>>): NamedServer[] {
  const found: NamedServer[] = [];
  for (const [name, value] of Object.entries(settings)) {
    const urls: string[] = value.match(/[a-z][a-z0-9+]*:\/\/[^\s,|"']+/gi) ?? [];
    if (urls.length === 0 && /proxy$/i.test(name) && !/^no_?proxy$/i.test(name) && /^[^\s/,]+:\d+$/.test(value)) {
      urls.push(`http://${value}`);
    }
    for (const text of urls) {
      if (!URL.canParse(text)) continue;
      const url = new URL(text);
      const port = url.port === '' ? SCHEME_PORTS[url.protocol] : Number(url.port);
      if (url.hostname !== '' && port !== undefined) found.push({ host: url.hostname.replace(/^\[|\]$/g, ''), port });
    }
  }
  return found;
}

/** Returns the settings for registries and proxies in the text of a configuration file of npm or pip. */
export function packageSettings(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const match = /^\s*([@\w.-]*:?(?:registry|https?-proxy|proxy|noproxy|index-url|extra-index-url))\s*=\s*(.+)$/.exec(
      line,
    );
    if (match?.[1] !== undefined && match[2] !== undefined && match[1] !== 'noproxy') found[match[1]] = match[2].trim();
  }
  return found;
}

/** Returns the package managers' settings for the whole host and for the platform's own user. */
export async function hostPackageSettings(): Promise<Record<string, string>> {
  const ofNpm = OWN_PATH.split(':').map((folder) => join(dirname(folder), 'etc/npmrc'));
  const files = [...new Set(['/etc/npmrc', ...ofNpm, join(homedir(), '.npmrc'), '/etc/pip.conf'])];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return Object.fromEntries(
    texts.flatMap((text, i) => Object.entries(packageSettings(text)).map(([name, value]) => [`${i}.${name}`, value])),
  );
}

/** Resolves servers to IPv4 addresses. Leaves out names that do not resolve within `LOOKUP_MS`. */
export async function resolveServers(servers: readonly NamedServer[]): Promise<Endpoint[]> {
  const found = await Promise.all(
    servers.map(async ({ host, port }) => (await addressesOf(host)).map((address) => ({ address, port }))),
  );
  return found.flat();
}

async function addressesOf(host: string): Promise<string[]> {
  if (ipaddr.IPv4.isValidFourPartDecimal(host)) return [host];
  const late = new Promise<[]>((resolve) => setTimeout(resolve, LOOKUP_MS, []).unref());
  const asked = lookup(host, { all: true, family: 4 }).catch(() => []);
  return (await Promise.race([asked, late])).map(({ address }) => address);
}

/** Returns true for a loopback address; false for any string that is not an IP address. */
export function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback';
}

/**
 * Returns the IPv4 DNS servers of this host that do not listen on loopback. If `resolvConf` has none, returns those of
 * `upstreamConf`, in which systemd-resolved lists its upstream servers. If both have none, returns the address of the
 * server on loopback as `loopback`.
 */
export function resolversOf(resolvConf: string, upstreamConf: string) {
  const usual = nameserversOf(resolvConf);
  const reachable = usual.filter((address) => !isLoopback(address));
  if (reachable.length > 0) return { reachable, loopback: null };
  const upstream = nameserversOf(upstreamConf).filter((address) => !isLoopback(address));
  if (upstream.length > 0) return { reachable: upstream, loopback: null };
  // Without a nameserver line, the C library uses 127.0.0.1.
  return { reachable: [], loopback: usual[0] ?? '127.0.0.1' };
}

function nameserversOf(text: string): string[] {
  const found = [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, address = '']) => address);
  return [...new Set(found.filter((address) => ipaddr.IPv4.isValidFourPartDecimal(address)))];
}

/** Returns a resolv.conf with these servers and the host's search, domain and options lines. */
export function resolvText(resolvConf: string, servers: readonly string[]): string {
  const kept = resolvConf.split('\n').filter((line) => /^\s*(search|domain|options)\s/.test(line));
  return [...servers.map((address) => `nameserver ${address}`), ...kept, ''].join('\n');
}

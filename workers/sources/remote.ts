import { lookup } from 'node:dns/promises';
import { realpath } from 'node:fs/promises';
import { isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { decoded, hostOf, isPrivateAddress, repositoryProblem } from '../../shared/domain/source.js';
import { errorMessage } from '../../shared/errors.js';
import { SourceError } from './source.js';

/** An address that may be used now, and how git is told to use it. */
export interface Remote {
  /** Without user and password: for git's arguments and for people. */
  url: string;
  /** Pinned addresses and the authorization header. */
  config: [key: string, value: string][];
  hasCredentials: boolean;
  /** User and password as they stood in the address. */
  userinfo: string;
}

/** What names resolve to and which addresses are out of bounds. */
export interface AddressPolicy {
  allowLocal: boolean;
  resolve: (host: string) => Promise<string[]>;
  isPrivate: (address: string) => boolean;
}

export function hostPolicy(allowLocal: boolean): AddressPolicy {
  return {
    allowLocal,
    resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
    isPrivate: isPrivateAddress,
  };
}

export interface RemoteOptions {
  policy: AddressPolicy;
  /** Variables of proxies and certificates, as git gets them. */
  network: Readonly<Record<string, string>>;
  /** Repositories below it are the platform's own copies. */
  dataDir: string;
}

/** Checks an address, names resolved and pinned, and takes user and password out of it. Throws `SourceError`. */
export async function openRemote(address: string, { policy, network, dataDir }: RemoteOptions): Promise<Remote> {
  const problem = repositoryProblem(address, policy.allowLocal);
  if (problem !== null) throw new SourceError(problem);
  const url = new URL(address);
  const userinfo = url.username === '' && url.password === '' ? '' : `${url.username}:${url.password}`;
  url.username = '';
  url.password = '';
  if (url.protocol === 'file:') {
    await refuseOwnFiles(url, dataDir);
    return { url: url.href, config: [], hasCredentials: false, userinfo: '' };
  }
  const config: Remote['config'] = [];
  if (userinfo !== '') {
    const plain = userinfo.split(':').map(decoded).join(':');
    config.push([`http.${url.origin}/.extraHeader`, `Authorization: Basic ${Buffer.from(plain).toString('base64')}`]);
  }
  if (!policy.allowLocal) config.push(...(await pinnedAddresses(url, policy, network)));
  return { url: url.href, config, hasCredentials: userinfo !== '', userinfo };
}

/**
 * The next address where a server answered `info/refs` with a redirect. User and password go on only to the same origin;
 * https never becomes http. Throws `SourceError`.
 */
export function redirectedAddress(remote: Remote, location: string): string {
  const suffix = '/info/refs';
  let target: URL;
  try {
    target = new URL(location, `${remote.url.replace(/\/$/, '')}${suffix}`);
  } catch {
    throw new SourceError(`${remote.url} redirects to an address that cannot be understood`);
  }
  if (!target.pathname.endsWith(suffix)) {
    throw new SourceError(
      `${remote.url} redirects to ${target.origin}${target.pathname}, which is not a git repository`,
    );
  }
  const from = new URL(remote.url);
  if (!/^https?:$/.test(target.protocol) || (from.protocol === 'https:' && target.protocol !== 'https:')) {
    throw new SourceError(`${remote.url} redirects to ${target.protocol}, which is not followed`);
  }
  const userinfo = target.origin === from.origin ? remote.userinfo : '';
  const path = target.pathname.slice(0, -suffix.length);
  return `${target.protocol}//${userinfo === '' ? '' : `${userinfo}@`}${target.host}${path}`;
}

async function refuseOwnFiles(url: URL, dataDir: string): Promise<void> {
  const path = await realpath(fileURLToPath(url)).catch(() => null);
  if (path !== null && `${path}/`.startsWith(`${await realpath(dataDir)}/`)) {
    throw new SourceError('a repository cannot be in the data folder of the platform');
  }
}

/** Git connects to the very addresses that were checked, whatever the name says a moment later. */
async function pinnedAddresses(
  url: URL,
  policy: AddressPolicy,
  network: RemoteOptions['network'],
): Promise<Remote['config']> {
  const host = hostOf(url);
  if (isIP(host) !== 0) return [];
  let addresses: string[];
  try {
    addresses = await policy.resolve(host);
  } catch (error) {
    // Behind a proxy the names of the world need not be known here; the proxy decides then.
    if (usesProxy(url, network)) return [];
    throw new SourceError(`${url.href} is not reachable: the host ${host} cannot be found (${errorMessage(error)})`);
  }
  for (const address of addresses) if (policy.isPrivate(address)) throw privateAddress(url, address);
  if (addresses.length === 0) throw new SourceError(`${url.href} is not reachable: the host ${host} has no address`);
  const port = url.port !== '' ? url.port : url.protocol === 'https:' ? '443' : '80';
  const list = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',');
  return [['http.curloptResolve', `${host}:${port}:${list}`]];
}

function privateAddress(url: URL, address: string): SourceError {
  return new SourceError(
    `${url.href} is at the private address ${address}, which is not allowed on this installation (ALLOW_LOCAL_REPOSITORIES)`,
  );
}

function usesProxy(url: URL, network: RemoteOptions['network']): boolean {
  return network[url.protocol === 'https:' ? 'https_proxy' : 'http_proxy'] !== undefined;
}

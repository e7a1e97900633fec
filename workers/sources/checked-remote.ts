import { lookup } from 'node:dns/promises';
import { realpath } from 'node:fs/promises';
import { isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { errorMessage } from '../../shared/core/error-registry.js';
import { decoded, hostOf, isPrivateAddress, repositoryProblem } from '../../shared/services/service-source.js';
import { isSshLike, parseSshAddress, parseWorkspaceAddress } from '../../shared/ssh/model.js';
import { SourceError } from '../failures/explained-errors.js';
import type { SshAccess } from './ssh-access.js';

/** A checked address, and the settings with which git uses it. */
export interface Remote {
  /**
   * The address without user, password, query and fragment. Other processes see git's arguments, and users see messages
   * with it.
   */
  url: string;
  /** Pinned addresses and the authorization header. */
  config: [key: string, value: string][];
  hasCredentials: boolean;
  /** True if the address had a query, which git does not get. */
  hadQuery: boolean;
  /** User and password from the address. */
  userinfo: string;
}

/** How names are resolved, and which addresses are forbidden. */
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
  /** Git's variables for proxies and certificates. */
  network: Readonly<Record<string, string>>;
  /** The folder of the platform's own copies. Repositories inside of it are refused. */
  dataDir: string;
  /** The access to repositories over SSH; null if this source has none. */
  ssh?: SshAccess | null;
}

/** Checks an address, pins the addresses of its name, and removes all secrets from it. Throws `SourceError`. */
export async function openRemote(
  address: string,
  { policy, network, dataDir, ssh = null }: RemoteOptions,
): Promise<Remote> {
  const ofWorkspace = parseWorkspaceAddress(address);
  if (ofWorkspace !== null) return openSshRemote(ofWorkspace, policy, ssh);
  const problem = repositoryProblem(address, policy.allowLocal);
  if (problem !== null) throw new SourceError(problem);
  if (isSshLike(address))
    throw new SourceError('a repository over SSH is read with the key of a workspace, and none is named');
  const url = new URL(address);
  const userinfo = url.username === '' && url.password === '' ? '' : `${url.username}:${url.password}`;
  const hadQuery = url.search !== '';
  for (const part of ['username', 'password', 'search', 'hash'] as const) url[part] = '';
  if (url.protocol === 'file:') {
    await refuseOwnFiles(url, dataDir);
    return { url: url.href, config: [], hasCredentials: false, hadQuery, userinfo: '' };
  }
  const config: Remote['config'] = [];
  if (userinfo !== '') {
    const plain = userinfo.split(':').map(decoded).join(':');
    config.push([`http.${url.origin}/.extraHeader`, `Authorization: Basic ${Buffer.from(plain).toString('base64')}`]);
  }
  if (!policy.allowLocal) config.push(...(await pinnedAddresses(url, policy, network)));
  return { url: url.href, config, hasCredentials: userinfo !== '', hadQuery, userinfo };
}

/** Opens an SSH remote. git gets a command that connects to the checked address with the workspace's key. */
async function openSshRemote(
  { workspaceId, address }: { workspaceId: string; address: string },
  policy: AddressPolicy,
  ssh: SshAccess | null,
): Promise<Remote> {
  const problem = repositoryProblem(address, policy.allowLocal);
  const remote = parseSshAddress(address);
  if (problem !== null || remote === null || ssh === null)
    throw new SourceError(problem ?? 'the address is not one of SSH');
  let found: string[];
  try {
    found = isIP(remote.host) === 0 ? await policy.resolve(remote.host) : [remote.host];
  } catch (error) {
    throw new SourceError(
      `${remote.url} is not reachable: the host ${remote.host} cannot be found (${errorMessage(error)})`,
    );
  }
  const secret = policy.allowLocal ? undefined : found.find(policy.isPrivate);
  if (secret !== undefined) throw privateAddress(new URL(remote.url), secret);
  const [first] = found;
  if (first === undefined)
    throw new SourceError(`${remote.url} is not reachable: the host ${remote.host} has no address; check its name`);
  const command = await ssh.commandFor(workspaceId, remote, first);
  return {
    url: remote.url,
    config: [
      ['core.sshCommand', command],
      ['ssh.variant', 'ssh'],
    ],
    hasCredentials: true,
    hadQuery: false,
    userinfo: '',
  };
}

/**
 * Returns the next address after a server answered `info/refs` with a redirect. Throws `SourceError`.
 * User and password are kept only within one origin. A redirect from https to http is refused.
 */
export function redirectedAddress(remote: Remote, location: string): string {
  const suffix = '/info/refs';
  let target: URL;
  try {
    target = new URL(location, `${remote.url.replace(/\/$/, '')}${suffix}`);
  } catch {
    throw new SourceError(`${remote.url} redirects to an invalid address; use the repository's current address`);
  }
  if (!target.pathname.endsWith(suffix)) {
    throw new SourceError(
      `${remote.url} redirects to ${target.origin}${target.pathname}, which is not a git repository`,
    );
  }
  const from = new URL(remote.url);
  if (!/^https?:$/.test(target.protocol) || (from.protocol === 'https:' && target.protocol !== 'https:')) {
    throw new SourceError(
      `${remote.url} redirects to ${target.protocol}, which is not followed; use the repository's current address`,
    );
  }
  const userinfo = target.origin === from.origin ? remote.userinfo : '';
  const path = target.pathname.slice(0, -suffix.length);
  return `${target.protocol}//${userinfo === '' ? '' : `${userinfo}@`}${target.host}${path}`;
}

async function refuseOwnFiles(url: URL, dataDir: string): Promise<void> {
  let file: string;
  try {
    file = fileURLToPath(url);
  } catch {
    throw new SourceError('the file: address of the repository is not a path of this host; correct it');
  }
  const path = await realpath(file).catch(() => null);
  if (path !== null && `${path}/`.startsWith(`${await realpath(dataDir)}/`)) {
    throw new SourceError('a repository cannot be in the data folder of the platform; move it elsewhere');
  }
}

/** Makes git connect to the checked addresses, even if the name resolves to others a moment later. */
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
    // Behind a proxy this host may not be able to resolve public names. The proxy resolves them.
    if (usesProxy(url, network)) return [];
    throw new SourceError(`${url.href} is not reachable: the host ${host} cannot be found (${errorMessage(error)})`);
  }
  for (const address of addresses) if (policy.isPrivate(address)) throw privateAddress(url, address);
  if (addresses.length === 0)
    throw new SourceError(`${url.href} is not reachable: the host ${host} has no address; check its name`);
  const port = url.port !== '' ? url.port : url.protocol === 'https:' ? '443' : '80';
  const list = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',');
  return [['http.curloptResolve', `${host}:${port}:${list}`]];
}

/**
 * Throws `SourceError` if the host (and port) has a private address. Ignores a name that this host cannot resolve: the
 * program that connects resolves names again. This stops names with private addresses, but not a name whose addresses
 * change.
 */
export async function refusePrivateHost(place: string, policy: AddressPolicy): Promise<void> {
  if (policy.allowLocal) return;
  const url = new URL(`https://${place}`);
  const found = await policy.resolve(hostOf(url)).catch(() => []);
  const secret = found.find(policy.isPrivate);
  if (secret !== undefined) throw privateAddress(url, secret);
}

function privateAddress(url: URL, address: string): SourceError {
  return new SourceError(
    `${url.href} is at the private address ${address}, which is not allowed on this installation (ALLOW_LOCAL_REPOSITORIES); use a public address`,
  );
}

function usesProxy(url: URL, network: RemoteOptions['network']): boolean {
  return network[url.protocol === 'https:' ? 'https_proxy' : 'http_proxy'] !== undefined;
}

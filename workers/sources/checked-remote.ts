import { lookup } from 'node:dns/promises';
import { realpath } from 'node:fs/promises';
import { isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { errorMessage } from '../../shared/core/error-registry.js';
import { decoded, hostOf, isPrivateAddress, repositoryProblem } from '../../shared/services/service-source.js';
import { isSshLike, parseSshAddress, parseWorkspaceAddress } from '../../shared/ssh/model.js';
import { SourceError } from '../failures/explained-errors.js';
import type { SshAccess } from './ssh-access.js';

export interface Remote {
  /** The URL without user, password, query and fragment: other processes can see git's arguments. */
  url: string;
  /** Settings for git: the pinned IP addresses and the authorization header, or the ssh command. */
  config: [key: string, value: string][];
  hasCredentials: boolean;
  /** True if the original URL had a query, which is not passed to git. */
  hadQuery: boolean;
  /** User and password of the original URL, percent-encoded; '' if it had none. */
  userinfo: string;
}

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
  network: Readonly<Record<string, string>>;
  /** Repositories with a `file:` URL inside the platform's data folder are refused. */
  dataDir: string;
  ssh?: SshAccess | null;
}

/** Checks a repository URL, pins its host's IP addresses, and removes its secrets. Throws `SourceError`. */
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

/** The ssh command connects to the checked IP address. */
async function openSshRemote(
  { workspaceId, address }: { workspaceId: string; address: string },
  policy: AddressPolicy,
  ssh: SshAccess | null,
): Promise<Remote> {
  const problem = repositoryProblem(address, policy.allowLocal);
  const remote = parseSshAddress(address);
  if (problem !== null || remote === null || ssh === null)
    throw new SourceError(problem ?? 'the address is not one of SSH');
  const [first = ''] = await addressesOf(remote.host, remote.url, policy);
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

/** Returns the URL of a redirect. Keeps the password only within one origin. Throws `SourceError`. */
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

/** git must use the checked IP addresses, even if the host name resolves to others a moment later. */
async function pinnedAddresses(
  url: URL,
  policy: AddressPolicy,
  network: RemoteOptions['network'],
): Promise<Remote['config']> {
  const host = hostOf(url);
  if (isIP(host) !== 0) return [];
  const usesProxy = network[url.protocol === 'https:' ? 'https_proxy' : 'http_proxy'] !== undefined;
  const addresses = await addressesOf(host, url.href, policy, usesProxy);
  if (addresses.length === 0) return [];
  const port = url.port !== '' ? url.port : url.protocol === 'https:' ? '443' : '80';
  const list = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',');
  return [['http.curloptResolve', `${host}:${port}:${list}`]];
}

/** Returns no address if only git's proxy can resolve the name. `shown` is the repository's URL, for messages. */
async function addressesOf(
  host: string,
  shown: string,
  { allowLocal, resolve, isPrivate }: AddressPolicy,
  usesProxy = false,
): Promise<string[]> {
  let found: string[];
  try {
    found = isIP(host) === 0 ? await resolve(host) : [host];
  } catch (error) {
    if (usesProxy) return [];
    throw new SourceError(`${shown} is not reachable: the host ${host} cannot be found (${errorMessage(error)})`);
  }
  const secret = allowLocal ? undefined : found.find(isPrivate);
  if (secret !== undefined) throw privateAddress(shown, secret);
  if (found.length > 0) return found;
  throw new SourceError(`${shown} is not reachable: the host ${host} has no address; check its name`);
}

/** Throws `SourceError` if a host has a private IP address. The host name may resolve to another address later. */
export async function refusePrivateHost(place: string, policy: AddressPolicy): Promise<void> {
  if (policy.allowLocal) return;
  const url = new URL(`https://${place}`);
  const found = await policy.resolve(hostOf(url)).catch(() => []);
  const secret = found.find(policy.isPrivate);
  if (secret !== undefined) throw privateAddress(url.href, secret);
}

function privateAddress(url: string, address: string): SourceError {
  return new SourceError(
    `${url} is at the private address ${address}, which is not allowed on this installation (ALLOW_LOCAL_REPOSITORIES); use a public address`,
  );
}

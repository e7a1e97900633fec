import { createHash } from 'node:crypto';

export interface SshAddress {
  user: string;
  host: string;
  port: number;
  /** `ssh://user@host:port/path`, without any other part. */
  url: string;
}

const USUAL_PORT = 22;
const SCP = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})@([A-Za-z0-9][A-Za-z0-9.-]{0,253}):(?!\/\/)([!-~]+)$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const HOST = /^(?:[A-Za-z0-9][A-Za-z0-9.-]{0,253}|\[[0-9A-Fa-f:.]+\])$/;

/**
 * Parses `ssh://git@host/path` and `git@host:path`. Returns null for any other address, for one with a password, and
 * for one that ssh could read as an option.
 */
export function parseSshAddress(address: string): SshAddress | null {
  const [, scpUser, scpHost, scpPath] = SCP.exec(address) ?? [];
  const text = scpUser === undefined ? address : `ssh://${scpUser}@${scpHost}/${scpPath?.replace(/^\//, '')}`;
  if (!text.startsWith('ssh://') || !URL.canParse(text)) return null;
  const { username, password, hostname, port, pathname, search, hash } = new URL(text);
  if (password !== '' || search !== '' || hash !== '' || !NAME.test(username) || !HOST.test(hostname)) return null;
  if (!/^\/[!-~]+$/.test(pathname) || pathname.startsWith('/-') || /[`$\\'"]/.test(address)) return null;
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const number = port === '' ? USUAL_PORT : Number(port);
  return { user: username, host, port: number, url: `ssh://${username}@${hostname}:${number}${pathname}` };
}

/** Returns true for text in the form of an SSH address, even if the address is invalid. */
export function isSshLike(address: string): boolean {
  return address.startsWith('ssh://') || SCP.test(address);
}

/** Returns a server's name in the format of known_hosts. */
export function knownHostName({ host, port }: Pick<SshAddress, 'host' | 'port'>): string {
  return port === USUAL_PORT ? host : `[${host}]:${port}`;
}

const SCHEME = 'ranvier-ssh:';

/**
 * Adds to an SSH address the workspace whose key can read the repository. Other addresses stay unchanged. Users cannot
 * configure an address with a workspace.
 */
export function addressForWorkspace(address: string, workspaceId: string): string {
  return isSshLike(address) ? `${SCHEME}${workspaceId}:${address}` : address;
}

/** Parses an address from `addressForWorkspace`; null for any other text. */
export function parseWorkspaceAddress(address: string): { workspaceId: string; address: string } | null {
  if (!address.startsWith(SCHEME)) return null;
  const rest = address.slice(SCHEME.length);
  const colon = rest.indexOf(':');
  return { workspaceId: rest.slice(0, colon), address: rest.slice(colon + 1) };
}

/** Returns the address as the user entered it, without the workspace. */
export function givenAddress(address: string): string {
  return parseWorkspaceAddress(address)?.address ?? address;
}

/** Returns the fingerprint of a base64-encoded public key, as ssh displays it. */
export function fingerprintOf(base64: string): string {
  const digest = createHash('sha256').update(Buffer.from(base64, 'base64')).digest('base64');
  return `SHA256:${digest.replace(/=+$/, '')}`;
}

const KEY_TYPES = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521', 'ssh-rsa'];

/** Parses the output of ssh-keyscan. Returns the type and key of each line with a supported key. */
export function scannedKeys(output: string): string[] {
  const keys = output.split('\n').flatMap((line) => {
    const [host = '', type = '', key = ''] = line.trim().split(/\s+/);
    const usable = !host.startsWith('#') && KEY_TYPES.includes(type) && /^[A-Za-z0-9+/=]{40,4000}$/.test(key);
    return usable ? [`${type} ${key}`] : [];
  });
  return [...new Set(keys)].sort();
}

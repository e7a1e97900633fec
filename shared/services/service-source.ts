import { Type } from 'typebox';
import { isSpecialAddress } from '../core/special-address.js';
import { givenAddress, isSshLike, parseSshAddress } from '../ssh/model.js';
import type { ServiceConfiguration } from './configuration.js';

/** Only a whole id is accepted. An abbreviated id or a branch could refer to other code later. */
export const CommitSha = Type.String({
  maxLength: 64,
  pattern: '^[0-9a-f]{40}$|^[0-9a-f]{64}$',
  description: 'the whole hash of a commit, in lower case',
});

/** Returns true if a service runs an existing image instead of building one from a repository. */
export function isImageSource({
  sourceType,
  buildMethod,
  runtime,
}: Pick<ServiceConfiguration, 'sourceType' | 'buildMethod' | 'runtime'>): boolean {
  return sourceType === 'image' || buildMethod === 'image' || runtime === 'image';
}

/** Returns true if a service is deployed from commits that are pushed to the platform. */
export function isPushSource(
  configuration: Pick<ServiceConfiguration, 'sourceType' | 'buildMethod' | 'runtime'>,
): boolean {
  return configuration.sourceType === 'push' && !isImageSource(configuration);
}

const STARTER = /^starter:node(?:@(\d{2}))?$/;

/**
 * Returns the Node.js version that a starter names, such as '22'. Returns '' if it names no version, and null if the
 * address is no starter. A starter (`starter:node`, `starter:node@22`) is an empty project, into which `buildCommand`
 * installs a package.
 */
export function starterNode(address: string): string | null {
  const found = STARTER.exec(address);
  return found === null ? null : (found[1] ?? '');
}

/** Returns why a repository address is invalid; null if it is valid. The worker also resolves and checks host names. */
export function repositoryProblem(address: string, allowLocal: boolean): string | null {
  if (address === '') return 'configuration.repository is empty';
  if (/[^!-~]/.test(address)) return 'the repository address contains spaces or characters outside ASCII';
  const problem = addressProblem(address);
  if (problem !== null || starterNode(address) !== null) return problem;
  const ssh = parseSshAddress(address);
  if (ssh !== null) return !allowLocal && isPrivateAddress(ssh.host) ? PRIVATE : null;
  const url = new URL(address);
  if (url.protocol === 'file:') {
    return allowLocal ? null : 'file: repositories are not allowed on this installation (ALLOW_LOCAL_REPOSITORIES)';
  }
  if (!allowLocal && isPrivateAddress(hostOf(url))) {
    return PRIVATE;
  }
  return null;
}

const PRIVATE =
  'the repository is at a private address, which is not allowed on this installation (ALLOW_LOCAL_REPOSITORIES)';
const PROTOCOLS = ['https:', 'http:', 'file:'];

/**
 * Returns why a text cannot be a repository address on any installation; null if it can. The message includes no part
 * of the text, which may contain a secret.
 */
export function addressProblem(address: string): string | null {
  if (/[\s\p{Cc}]/u.test(address)) return 'the repository address contains spaces or control characters';
  if (starterNode(address) !== null) return null;
  if (isSshLike(address)) {
    return parseSshAddress(address) === null
      ? 'the SSH address of the repository must be like git@host:owner/name.git or ssh://git@host/owner/name.git, without a password'
      : null;
  }
  if (!URL.canParse(address)) return 'the repository address is not a URL such as https://host/owner/name.git';
  const url = new URL(address);
  if (!PROTOCOLS.includes(url.protocol)) return 'the protocol of the repository address is not supported; use https:';
  if (url.protocol === 'file:') return url.host === '' ? null : 'a file: repository must have no host';
  return HOST.test(url.hostname)
    ? null
    : 'the host name of the repository address has characters that no host name has';
}

/** Cannot begin with `+` or `-`, which git could read as an option. */
const HOST = /^(?:[a-z0-9_][a-z0-9_.-]*|\[[0-9a-f:.]+\])$/;

const MASK = '***';
/** A user name of at least this length counts as a secret token. */
const TOKEN_LENGTH = 20;

/**
 * Returns the secret parts of a repository address, which must not be logged. A short user name beside a password is a
 * word such as "deploy", and not secret. With the password `x-oauth-basic`, every user name is a token.
 */
export function credentialsOf(address: string): string[] {
  if (isSshLike(givenAddress(address))) return [];
  if (!URL.canParse(address)) return [];
  const { username, password, search, searchParams, hash } = new URL(address);
  const names = password === '' || password === 'x-oauth-basic' || username.length >= TOKEN_LENGTH ? [username] : [];
  const further = [search.slice(1), ...search.slice(1).split('&'), ...searchParams.values(), hash.slice(1)];
  const parts = [...names, password, ...further].flatMap((part) => [part, decoded(part)]);
  return [...new Set(parts.filter((part) => part !== ''))];
}

/** Replaces the secret parts of an address with asterisks, for display. */
export function maskedRepository(address: string): string {
  // In an SSH address the user name is not secret, and there is no password.
  if (parseSshAddress(address) !== null) return address;
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (!hasSecretPart(url)) return address;
  if (url.username !== '' || url.password !== '') {
    url.username = MASK;
    url.password = '';
  }
  if (url.search !== '') url.search = MASK;
  if (url.hash !== '') url.hash = MASK;
  return url.href;
}

function hasSecretPart({ username, password, search, hash }: URL): boolean {
  return [username, password, search, hash].some((part) => part !== '');
}

/** Returns true for a masked address. Its secret part cannot be recovered from it. */
export function isMasked(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { username, password, search, hash } = new URL(address);
  return [username, password, search.slice(1), hash.slice(1)].includes(MASK);
}

/** Decodes percent-encoding. Keeps a percent sign that is not part of a valid escape. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns a URL's host; an IPv6 address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** Returns true for an address that no public repository can have, and for `localhost`. Resolves no host names. */
export function isPrivateAddress(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return isSpecialAddress(name) || name === 'localhost' || name.endsWith('.localhost');
}

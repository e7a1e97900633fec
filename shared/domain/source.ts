import { BlockList, isIP } from 'node:net';
import { Type } from '@sinclair/typebox';
import type { ServiceConfiguration } from './configuration.js';

/** A full commit id: what is deployed must not change under its name. */
export const CommitSha = Type.String({ pattern: '^[0-9a-f]{40}$|^[0-9a-f]{64}$' });

/** True where a service runs an image as it is, and not what is built from a repository. */
export function isImageSource({
  sourceType,
  buildMethod,
  runtime,
}: Pick<ServiceConfiguration, 'sourceType' | 'buildMethod' | 'runtime'>): boolean {
  return sourceType === 'image' || buildMethod === 'image' || runtime === 'image';
}

/** What is wrong with a repository address, or null. Pure: names are resolved and checked again by the worker. */
export function repositoryProblem(address: string, allowLocal: boolean): string | null {
  if (address === '') return 'configuration.repository is empty';
  if (/[^!-~]/.test(address)) return 'the repository address contains spaces or characters outside ASCII';
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return 'the repository address is not a URL such as https://host/owner/name.git';
  }
  if (url.protocol === 'file:') {
    if (!allowLocal) return 'file: repositories are not allowed on this installation (ALLOW_LOCAL_REPOSITORIES)';
    return url.host === '' ? null : 'a file: repository must have no host';
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return `the protocol ${url.protocol} is not supported; use https:`;
  if (!allowLocal && isPrivateAddress(hostOf(url))) {
    return 'the repository is at a private address, which is not allowed on this installation (ALLOW_LOCAL_REPOSITORIES)';
  }
  return null;
}

const MASK = '***';
/** A user name of this length is a token. */
const TOKEN_LENGTH = 20;

/** What of a repository's address is secret: its password, or the token that stands in the place of the user. */
export function credentialsOf(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const { username, password } = new URL(address);
  const names = password === '' || password === 'x-oauth-basic' || username.length >= TOKEN_LENGTH ? [username] : [];
  return [...names, password].flatMap((part) => [part, decoded(part)]).filter((part) => part !== '');
}

/** An address as people are shown it: with three asterisks for what is secret. */
export function maskedRepository(address: string): string {
  if (credentialsOf(address).length === 0) return address;
  const url = new URL(address);
  if (credentialsOf(address).includes(url.username)) url.username = MASK;
  if (url.password !== '') url.password = MASK;
  return url.href;
}

/** True for an address that was shown masked, whose secret nobody knows any more. */
export function isMasked(address: string): boolean {
  return credentialsOf(address).includes(MASK);
}

/** A percent sign that encodes nothing stands for itself. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A URL's host without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

const PRIVATE = new BlockList();
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  PRIVATE.addSubnet(address, prefix, 'ipv4');
}
for (const [address, prefix] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  PRIVATE.addSubnet(address, prefix, 'ipv6');
}

/** True for an address no public repository can have, and for the name `localhost`. Other names are not resolved here. */
export function isPrivateAddress(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  const family = isIP(name);
  if (family === 0) return name === 'localhost' || name.endsWith('.localhost');
  // Node prints an IPv4-mapped address as ::ffff:7f00:1; BlockList does not map it back.
  const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/.exec(name);
  if (mapped) {
    const high = Number.parseInt(mapped[2] ?? '0', 16);
    const low = Number.parseInt(mapped[3] ?? '0', 16);
    return PRIVATE.check(mapped[1] ?? `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`, 'ipv4');
  }
  return PRIVATE.check(name, family === 6 ? 'ipv6' : 'ipv4');
}

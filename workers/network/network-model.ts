import ipaddr from 'ipaddr.js';

export interface NetworkSpec {
  /** Sandboxes with the same scope can reach each other. See `scopeOf`. */
  scope: string;
  /** Builds may also connect to registries and proxies that the platform's settings name. */
  use: 'application' | 'build';
  /** The host name under which the sandboxes of the same scope reach this one; '' for none. */
  hostName: string;
  alias?: string;
}

/** One namespace with its link and its address. */
export interface NetworkSlot extends NetworkSpec {
  number: number;
  id: string;
  /** Name of the namespace, and of its link on the host. Never reused. */
  name: string;
  /** The host's port that is forwarded to the sandbox, if the host cannot reach the sandbox's own address. */
  entry?: Entry | null;
  /** When the slot was released, in milliseconds since the epoch; null while it is in use. */
  releasedAt: number | null;
}

/** A port on the host's loopback that is forwarded to a port of a sandbox. */
export interface Entry {
  port: number;
  to: number;
}

export interface Attachment {
  /** Arguments to put before a command so that it joins the namespace. */
  join: readonly string[];
  address: string;
  /** The port at which the edge reaches the sandbox, if it differs from the sandbox's own. */
  port?: number;
  hostsFile: string;
  resolvFile: string;
}

/** The range is divided into 1,024 blocks of 4,096 addresses. An installation has one block on each host. */
const POOL = '10.64.0.0/10';
const BLOCK_BITS = 20;
const BLOCK_SIZE = 2 ** (32 - BLOCK_BITS);
const BLOCKS = 2 ** (BLOCK_BITS - 10);
/** The first slot for a sandbox, because the first address is the gateway's. */
export const FIRST_SLOT = 2;
export const LAST_SLOT = BLOCK_SIZE - 2;
/** How long a released address is not reused: an edge may still have the old route. */
export const REST_MS = 120_000;

/** Returns the name prefix of an installation's links and namespaces. `token` is the hash of its DATA_DIR. */
export function namePrefix(token: string): string {
  return `rv${token.slice(0, 6)}`;
}

/** Returns the name for a new link, of at most 15 characters. `random` must have at least 32 bits. */
export function linkName(token: string, random: number): string {
  return `${namePrefix(token)}${(random % 36 ** 6).toString(36).padStart(6, '0')}`;
}

export interface ScopedService {
  serviceId: string;
  workspaceId: string;
  environmentId: string | null;
  configuration: { privateNetworking: boolean };
}

/** Returns the scope of a service's private network. Services without an environment share one scope per workspace. */
export function scopeOf({ serviceId, workspaceId, environmentId, configuration }: ScopedService): string {
  if (!configuration.privateNetworking) return `service-${serviceId}`;
  return environmentId === null ? `workspace-${workspaceId}` : `environment-${environmentId}`;
}

/** Throws if the scope contains characters that could not be part of a rule. */
export function assertScope(scope: string): void {
  if (!/^[a-z][a-z0-9-]{0,79}$/.test(scope)) throw new Error(`"${scope}" cannot name a network`);
}

/** Returns the IPv4 address of a slot. */
export function addressOf(block: string, slot: number): string {
  return textOf(firstOf(block) + slot);
}

/** Returns the host's address in a block. */
export function gatewayOf(block: string): string {
  return addressOf(block, 1);
}

/** Returns the slot of an address; null if the address is not in the block. */
export function slotOf(block: string, address: string): number | null {
  const slot = ipaddr.IPv4.isValidFourPartDecimal(address) ? numberOf(address) - firstOf(block) : -1;
  return slot >= FIRST_SLOT && slot <= LAST_SLOT ? slot : null;
}

/** Converts an address 10.x.y.z of a block to its mirror 127.x.y.z on the host's loopback, and back. */
export function mirrorOf(address: string): string {
  return address.replace(/^(10|127)\./, (_, first) => (first === '10' ? '127.' : '10.'));
}

/** Returns true if the text is a block that `chooseBlock` could have chosen. */
export function isBlock(text: string): boolean {
  const [address = '', bits] = text.split('/');
  if (bits !== String(BLOCK_BITS) || !ipaddr.IPv4.isValidFourPartDecimal(address)) return false;
  return numberOf(address) % BLOCK_SIZE === 0 && overlaps(text, POOL);
}

/**
 * Returns the first block that overlaps no IPv4 range in use; null if there is none. The search starts at a block that
 * depends on the installation, so that two installations seldom choose the same block.
 */
export function chooseBlock(token: string, inUse: readonly string[]): string | null {
  const start = Number.parseInt(token.slice(0, 8), 16) % BLOCKS;
  for (let i = 0; i < BLOCKS; i++) {
    const block = `${textOf(firstOf(POOL) + ((start + i) % BLOCKS) * BLOCK_SIZE)}/${BLOCK_BITS}`;
    if (!inUse.some((range) => overlaps(block, range))) return block;
  }
  return null;
}

/** Returns true if two IPv4 ranges have an address in common. A default route overlaps no range. */
export function overlaps(a: string, b: string): boolean {
  const [first, second] = [rangeOf(a), rangeOf(b)];
  return first !== null && second !== null && (first[0].match(second) || second[0].match(first));
}

function rangeOf(text: string): [address: ipaddr.IPv4, bits: number] | null {
  const [address = '', bits = '32'] = text.split('/');
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) || !(Number(bits) > 0 && Number(bits) <= 32)) return null;
  return [ipaddr.IPv4.parse(address), Number(bits)];
}

function firstOf(block: string): number {
  return numberOf(block.split('/')[0] ?? '');
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function textOf(number: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join('.');
}

export interface Neighbour extends Pick<NetworkSpec, 'hostName' | 'alias'> {
  address: string;
}

/**
 * Returns the text of /etc/hosts for the sandboxes of a scope. `localhost` has only an IPv4 address, so that an
 * application that listens on `localhost` can be reached.
 */
export function hostsText(neighbours: readonly Neighbour[], hostFile: string): string {
  const kept = hostFile.split('\n').filter((line) => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    return ipaddr.isValid(address) && names.length > 0 && !isOwnName(address);
  });
  const sorted = [...neighbours].sort((a, b) => (`${a.hostName} ${a.address}` < `${b.hostName} ${b.address}` ? -1 : 1));
  const lines = ['127.0.0.1 localhost', '::1 ip6-localhost ip6-loopback', ...kept];
  // A host name has priority over another service's alias. If two services have the same alias, the alias leads to the
  // first service in alphabetical order.
  const owners = new Map([...sorted.toReversed().map(({ hostName, alias }) => [alias ?? '', hostName] as const)]);
  for (const { hostName } of sorted) owners.set(hostName, hostName);
  const namesOf = ({ hostName, alias = '' }: Neighbour) =>
    alias !== '' && owners.get(alias) === hostName ? `${hostName} ${alias}` : hostName;
  return [...lines, ...sorted.map((each) => `${each.address} ${namesOf(each)}`), ''].join('\n');
}

function isOwnName(address: string): boolean {
  const range = ipaddr.parse(address).range();
  return range === 'loopback' || range === 'multicast' || range === 'unspecified' || range === 'linkLocal';
}

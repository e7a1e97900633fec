import { type ConnectionBounds, connectionRules } from './connection-bounds.js';
import { addressOf, gatewayOf, type NetworkSlot, namePrefix } from './network-model.js';

export interface Endpoint {
  address: string;
  port: number;
}

export interface NetworkSettings {
  token: string;
  dataDir: string;
  block: string;
  /** DNS servers, to which sandboxes may connect. */
  resolvers: readonly string[];
  /** A DNS server on loopback, to which the gateway's port 53 is forwarded; null if there is none. */
  loopbackResolver: string | null;
  egressAllow: readonly string[];
  /** Registries and proxies that the platform's settings name. Builds may connect to them. */
  sources: readonly Endpoint[];
  /** Ports of registries and proxies on the host's loopback. Builds reach them on their own loopback. */
  loopbackPorts: readonly number[];
  /** True if EGRESS_ALLOW includes loopback, so that applications can reach `loopbackPorts` too. */
  loopbackForAll: boolean;
  publicEndpoints: readonly Endpoint[];
  /** IDs of the Linux users on this host whose processes may connect to replicas. */
  edgeUsers: readonly number[];
  /** The uplink of a rootless network; null if the rules apply to the host's own namespace. */
  uplink: Uplink | null;
  connections: ConnectionBounds;
}

/** The link from a rootless network to slirp4netns, which opens connections to the outside as the platform's user. */
interface Uplink {
  link: string;
  address: string;
  /** The address that slirp4netns forwards to the host's loopback. */
  gateway: string;
  hostAddresses: readonly string[];
}

const FIRST_ENTRY = 10_000;

/** Returns the uplink's port for connections from the host to a sandbox. */
export function entryPort(slot: number): number {
  return FIRST_ENTRY + slot;
}

export const NETWORK_TABLE = 'ranvier_net_';

/** Address ranges without public servers. Azure's metadata service has an address that looks public (168.63.129.16). */
const CLOSED = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
];

export function tableName(token: string): string {
  return `${NETWORK_TABLE}${token}`;
}

/** Returns true if the sandbox may use `loopbackPorts` of the host's loopback. */
export function usesLoopback({ use }: Pick<NetworkSlot, 'use'>, settings: NetworkSettings): boolean {
  return settings.loopbackPorts.length > 0 && (use === 'build' || settings.loopbackForAll);
}

/** Returns the nft script that sets all network rules of this installation on this host. */
export function networkRules(settings: NetworkSettings, slots: readonly NetworkSlot[]): string {
  const { token, dataDir, block, resolvers, loopbackResolver, egressAllow, sources, loopbackPorts, uplink } = settings;
  const table = tableName(token);
  const ours = `"${namePrefix(token)}*"`;
  const gateway = gatewayOf(block);
  // Another installation on this host removes this table if the data folder in the table's comment no longer exists. A
  // table whose folder nft cannot quote gets no comment, and so no other installation removes the table.
  const comment = /^[\w./ -]{1,100}$/.test(dataDir) ? `comment "${block} ${dataDir}"` : '';
  const dns = 'meta l4proto { tcp, udp } th dport 53';
  const allowed = [
    ...(resolvers.length === 0 ? [] : [`ip daddr { ${resolvers.join(', ')} } ${dns} accept`]),
    ...(egressAllow.length === 0 ? [] : [`ip daddr { ${egressAllow.join(', ')} } accept`]),
    'iifname @builds ip daddr . tcp dport @sources accept',
  ];
  const led = `iifname "${uplink?.link}" ct status dnat`;
  const ports = loopbackPorts.join(', ');
  const served = settings.publicEndpoints.map(({ address, port }) => `${address} . ${port}`);
  return `${connectionRules(token, ours, settings.connections)}
table inet ${table}
delete table inet ${table}
table inet ${table} {
  ${comment}
  # Each link with the one address that may send through it.
  set own { type ifname . ipv4_addr; ${elements(slots.map((slot) => ownElement(settings, slot)))} }
  set builds { type ifname; ${elements(slots.filter(({ use }) => use === 'build').map(({ name }) => `"${name}"`))} }
  set loopback { type ifname; ${elements(slots.filter((slot) => usesLoopback(slot, settings)).map(({ name }) => `"${name}"`))} }
  set sources { type ipv4_addr . inet_service; ${elements(unique(sources.map(({ address, port }) => `${address} . ${port}`)))} }
${unique(slots.map(({ scope }) => scope))
  .map((scope) => {
    const members = slots.filter((slot) => slot.scope === scope).map(({ name }) => `"${name}"`);
    return `  set m_${scope} { type ifname; ${elements(members)} }\n  chain n_${scope} { oifname @m_${scope} accept; }`;
  })
  .join('\n')}
  map network { type ifname : verdict; ${elements(slots.map(networkElement))} }
  map entries { type inet_service : ipv4_addr . inet_service; ${elements(slots.flatMap((slot) => entryElement(settings, slot)))} }
  chain input {
    type filter hook input priority -10; policy accept;
    iifname != ${ours} accept
    iifname . ip saddr != @own drop
    ct state established,related accept
    ${allowed.join('\n    ')}
    ${loopbackResolver === null ? '' : `ct status dnat ${dns} accept`}
    ${loopbackPorts.length === 0 ? '' : `iifname @loopback ct status dnat tcp dport { ${ports} } accept`}
    ${served.length === 0 ? '' : `ip daddr . tcp dport { ${served.join(', ')} } accept`}
    reject with icmpx type admin-prohibited
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname != ${ours} oifname != ${ours} accept
    ct state established,related accept
    # From the host to a sandbox. Connections to a sandbox that no longer exists are reset at once.
    ${uplink === null ? '' : `${led} oifname ${ours} accept\n    ${led} reject with tcp reset`}
    iifname != ${ours} drop
    iifname . ip saddr != @own drop
    iifname vmap @network
    oifname ${ours} reject with icmpx type admin-prohibited
    meta nfproto ipv6 drop
    ${allowed.join('\n    ')}
    ${uplink === null ? '' : uplinkRules(settings, uplink).join('\n    ')}
    ip daddr { ${CLOSED.join(', ')} } reject with icmpx type admin-prohibited
  }
  chain output {
    type filter hook output priority -10; policy accept;
    oifname != ${ours} accept
    ct state established,related accept
    meta skuid != { ${settings.edgeUsers.join(', ')} } reject
  }
  chain prerouting {
    type nat hook prerouting priority -100; policy accept;
    ${loopbackResolver === null ? '' : `iifname ${ours} ip daddr ${gateway} ${dns} dnat ip to ${loopbackResolver}`}
    ${loopbackPorts.length === 0 ? '' : `iifname @loopback ip daddr ${gateway} tcp dport { ${ports} } dnat ip to ${uplink?.gateway ?? '127.0.0.1'}`}
    ${uplink === null ? '' : `iifname "${uplink.link}" ip daddr ${uplink.address} dnat ip to tcp dport map @entries`}
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${block} oifname != ${ours} oifname != "lo" masquerade
  }
}
`;
}

/** Returns rules for connections from sandboxes to this host itself. Connections that no rule accepts are rejected. */
function uplinkRules({ loopbackPorts, publicEndpoints }: NetworkSettings, uplink: Uplink): string[] {
  const ports = loopbackPorts.join(', ');
  const served = publicEndpoints.map(({ address, port }) => `${address} . ${port}`);
  const own = uplink.hostAddresses.filter((address) => !address.includes(':'));
  return [
    ports && `iifname @loopback ip daddr ${uplink.gateway} ct status dnat tcp dport { ${ports} } accept`,
    served.length === 0 ? '' : `ip daddr . tcp dport { ${served.join(', ')} } accept`,
    own.length === 0 ? '' : `ip daddr { ${own.join(', ')} } reject with icmpx type admin-prohibited`,
  ].filter((rule) => rule !== '');
}

/** Returns the nft script that creates the network of a sandbox's scope and adds the sandbox. */
export function admitRules(settings: NetworkSettings, slot: NetworkSlot): string {
  const table = `inet ${tableName(settings.token)}`;
  const { scope } = slot;
  return `
add set ${table} m_${scope} { type ifname; }
add chain ${table} n_${scope}
flush chain ${table} n_${scope}
add rule ${table} n_${scope} oifname @m_${scope} accept
${joinRules(settings, slot)}`;
}

/** Returns the nft script that adds a sandbox to an existing scope, faster than `admitRules`. */
export function joinRules(settings: NetworkSettings, slot: NetworkSlot): string {
  const table = `inet ${tableName(settings.token)}`;
  const { scope, name, use } = slot;
  return `
add element ${table} m_${scope} { "${name}" }
add element ${table} own { ${ownElement(settings, slot)} }
add element ${table} network { ${networkElement(slot)} }
${entryElement(settings, slot)
  .map((element) => `add element ${table} entries { ${element} }`)
  .join('')}
${use === 'build' ? `add element ${table} builds { "${name}" }` : ''}
${usesLoopback(slot, settings) ? `add element ${table} loopback { "${name}" }` : ''}
`;
}

/** Returns the nft script that removes a sandbox. If a rule is missing, the script fails and changes nothing. */
export function dismissRules(settings: NetworkSettings, slot: NetworkSlot): string {
  const table = `inet ${tableName(settings.token)}`;
  const { scope, name, use } = slot;
  return `
delete element ${table} network { "${name}" }
delete element ${table} own { ${ownElement(settings, slot)} }
delete element ${table} m_${scope} { "${name}" }
${slot.entry ? `delete element ${table} entries { ${entryPort(slot.number)} }` : ''}
${use === 'build' ? `delete element ${table} builds { "${name}" }` : ''}
${usesLoopback(slot, settings) ? `delete element ${table} loopback { "${name}" }` : ''}
`;
}

/** Returns the nft script that forwards a sandbox's `entryPort` to another port of the sandbox. */
export function entryRules(settings: NetworkSettings, slot: NetworkSlot): string {
  const entries = `element inet ${tableName(settings.token)} entries`;
  const [element] = entryElement(settings, slot);
  return element === undefined
    ? ''
    : `delete ${entries} { ${entryPort(slot.number)} }\nadd ${entries} { ${element} }\n`;
}

/** Returns the nft script that forwards loopback ports inside a namespace to the gateway. */
export function loopbackRules({ block, loopbackPorts }: NetworkSettings): string {
  return `
table ip ranvier_loopback {
  chain output {
    type nat hook output priority -100; policy accept;
    ip daddr 127.0.0.1 tcp dport { ${loopbackPorts.join(', ')} } dnat to ${gatewayOf(block)}
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    oifname "eth0" ip saddr 127.0.0.0/8 masquerade
  }
}
`;
}

/** A port of a namespace, and the address and port in the namespace on which the application listens. */
export interface PortTarget {
  port: number;
  to: Endpoint;
}

/** Returns the nft script that translates ports inside a namespace, for connections from outside. */
export function portRules(targets: readonly PortTarget[]): string {
  const rules = targets.map(({ port, to }) => `iifname "eth0" tcp dport ${port} dnat to ${to.address}:${to.port}`);
  return `
table ip ranvier_ports
delete table ip ranvier_ports
table ip ranvier_ports {
  chain prerouting {
    type nat hook prerouting priority -100; policy accept;
    ${rules.join('\n    ')}
  }
}
`;
}

function ownElement({ block }: NetworkSettings, { name, number }: NetworkSlot): string {
  return `"${name}" . ${addressOf(block, number)}`;
}

function networkElement({ name, scope }: NetworkSlot): string {
  return `"${name}" : jump n_${scope}`;
}

function entryElement({ block }: NetworkSettings, { number, entry }: NetworkSlot): string[] {
  return entry ? [`${entryPort(number)} : ${addressOf(block, number)} . ${entry.to}`] : [];
}

function elements(items: readonly string[]): string {
  return items.length === 0 ? '' : `elements = { ${items.join(', ')} };`;
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)].sort();
}

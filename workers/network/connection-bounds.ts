/** One sandbox's share of the kernel's connection tracking table, which all connections of the host share. */
export interface ConnectionBounds {
  atOnce: number;
  perSecond: number;
  /** False if closed connections stay in the table for two minutes, the kernel's default. */
  forgets: boolean;
}

const MIN_CONNECTIONS = 1024;
const MAX_CONNECTIONS = 4096;
/** The connection tracking table is divided among this many sandboxes, so that no single one can fill it. */
const SHARES = 64;
/**
 * Maximum number of a sandbox's new connections per second. The rate is lower if the kernel keeps closed connections in
 * the connection tracking table for two minutes.
 */
const PER_SECOND = { forgets: 500, keeps: 100 };
const CLOSED_SECONDS = 5;
const CLOSED_TIMES = `{ protocol tcp; l3proto ip; policy = { time_wait : ${CLOSED_SECONDS}, close : ${CLOSED_SECONDS} }; }`;

/** Returns the limits for a sandbox, on a host whose connection tracking table has `tracked` entries. */
export function connectionBounds(tracked: number, forgets: boolean): ConnectionBounds {
  const atOnce = Math.min(MAX_CONNECTIONS, Math.max(MIN_CONNECTIONS, Math.floor(tracked / SHARES)));
  return { atOnce, perSecond: forgets ? PER_SECOND.forgets : PER_SECOND.keeps, forgets };
}

/** A script that `nft --check` refuses if the kernel cannot be configured to forget closed connections sooner. */
export const FORGETS_TRIAL = `add table inet ranvier_trial
add ct timeout inet ranvier_trial closed ${CLOSED_TIMES}
add chain inet ranvier_trial c
add rule inet ranvier_trial c ct timeout set "closed"
`;

/** Returns the name of the nftables table that limits an installation's connections. */
export function connectionTable(token: string): string {
  return `ranvier_use_${token}`;
}

/**
 * Returns the nft script that limits connections from sandboxes' links, which match `ours`. The table is never
 * replaced, because its counts would be lost. Its chains run after those that drop packets with a forged address.
 */
export function connectionRules(token: string, ours: string, { atOnce, perSecond, forgets }: ConnectionBounds): string {
  const table = `inet ${connectionTable(token)}`;
  const chains = ['input', 'forward'];
  return `
add table ${table}
add set ${table} open { type ipv4_addr; size 65535; flags dynamic; }
add set ${table} pace { type ipv4_addr; size 65535; flags dynamic,timeout; timeout 1m; }
${forgets ? `add ct timeout ${table} closed ${CLOSED_TIMES}` : ''}
add chain ${table} bounded
${chains.map((name) => `add chain ${table} ${name} { type filter hook ${name} priority -9; policy accept; }`).join('\n')}
${['bounded', ...chains].map((name) => `flush chain ${table} ${name}`).join('\n')}
add rule ${table} bounded update @pace { ip saddr limit rate over ${perSecond}/second burst ${2 * perSecond} packets } drop
add rule ${table} bounded add @open { ip saddr ct count over ${atOnce} } reject with icmpx type admin-prohibited
${forgets ? `add rule ${table} bounded ct timeout set "closed"` : ''}
${chains.map((name) => `add rule ${table} ${name} iifname ${ours} ct state new jump bounded`).join('\n')}`;
}

export interface FirewallState {
  table: string;
  /** If this folder no longer exists, another installation removes the table. */
  dataDir: string;
  /**
   * Replicas' ports, each with the user that may listen on it. `uid` is null if the port was released, but an edge may
   * still send visitors there. Every hosted process may connect to an `open` port, because the database that listens
   * there requires a password.
   */
  ports: readonly { port: number; uid: number | null; open?: boolean }[];
  /** Linux users that run edges. They may connect to every hosted port. */
  edgeUsers: readonly number[];
  /** Linux users of hosted processes. */
  hostedUsers: { first: number; last: number };
}

export const TABLE_PREFIX = 'ranvier_';

/**
 * Cloud metadata services at these addresses hand out a machine's credentials. Some clouds also have DNS servers there,
 * so port 53 stays open.
 */
const METADATA_IPV4 = ['169.254.0.0/16', '168.63.129.16', '100.100.100.200'];
const METADATA_IPV6 = ['fe80::/10', 'fd00:ec2::254', 'fd20:ce::254'];

/**
 * Returns the nft script that replaces the table. Only the edge and the application itself can connect to a replica's
 * port, unless the port is `open`. If another process listens on the port of a stopped application, replies of that
 * process are dropped.
 */
export function rulesOf({ table, dataDir, ports, edgeUsers, hostedUsers }: FirewallState): string {
  const hosted = `meta skuid ${hostedUsers.first}-${hostedUsers.last}`;
  const stranger = `meta skuid != { ${edgeUsers.join(', ')} }`;
  const hostedButNotDns = `${hosted} meta l4proto { tcp, udp } th dport != 53`;
  const elements = (items: string[]) => (items.length === 0 ? '' : `elements = { ${items.join(', ')} }`);
  const sorted = [...ports].sort((a, b) => a.port - b.port);
  // nft cannot quote all names of folders. Without a comment, other installations never remove the table.
  const comment = /^[\w./ -]{1,120}$/.test(dataDir) ? `comment "${dataDir}"` : '';
  return `
table inet ${table}
delete table inet ${table}
table inet ${table} {
  ${comment}
  set handed {
    type inet_service
    ${elements(sorted.map(({ port }) => `${port}`))}
  }
  set own {
    type inet_service . uid
    ${elements(sorted.flatMap(({ port, uid }) => (uid === null ? [] : [`${port} . ${uid}`])))}
  }
  set open {
    type inet_service
    ${elements(sorted.filter(({ open }) => open).map(({ port }) => `${port}`))}
  }
  chain input {
    type filter hook input priority -5; policy accept;
    iifname != "lo" tcp dport @handed drop
  }
  chain output {
    type filter hook output priority -5; policy accept;
    ${hostedButNotDns} ip daddr { ${METADATA_IPV4.join(', ')} } reject
    ${hostedButNotDns} ip6 daddr { ${METADATA_IPV6.join(', ')} } reject
    oifname "lo" tcp dport @handed tcp dport != @open ${stranger} tcp dport . meta skuid != @own reject with tcp reset
    oifname "lo" tcp sport @handed tcp flags & (syn | ack) == (syn | ack) ${stranger} tcp sport . meta skuid != @own drop
  }
}
`;
}

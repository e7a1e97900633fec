import { isIP } from 'node:net';
import { choice, integer, list, lowerCase, optional, port, setting, settingsOf, text, urlOf } from './setting.js';

const ADMIN_ADDRESS = {
  valid: (given: string) => /^(http:\/\/|unix:\/\/\/)./.test(given) && URL.canParse(given),
  problem: 'must be an address such as unix:///run/caddy/admin.sock or http://127.0.0.1:2019',
};

const ADDRESS = {
  valid: (given: string) => isIP(given) !== 0,
  problem: 'must be a comma list of IP addresses such as 203.0.113.7,2001:db8::7',
};
const NAME_SERVER = {
  valid: (given: string) => isIP(given) !== 0 || /^(\d+(\.\d+){3}|\[[0-9a-f:]+\]):\d{1,5}$/i.test(given),
  problem: 'must be a comma list such as 192.0.2.53,127.0.0.1:5353,[2001:db8::53]:5353',
};

const edge = settingsOf('edge');

export const EDGE_SETTINGS = {
  EDGE_PORT: setting(port(8080), ['start', 'api', 'worker', 'edge'], 'The port that visitors reach.'),
  EDGE_DOMAIN: setting(
    lowerCase(text('localhost')),
    ['start', 'api', 'worker', 'edge'],
    'A service answers at `http://<slug>.<EDGE_DOMAIN>:<EDGE_PORT>`.',
  ),
  EDGE_ADDRESSES: setting(
    list('', ADDRESS),
    ['api', 'worker'],
    'The IP addresses at which visitors reach the edges, separated by commas. With them, a domain that leads elsewhere gets no certificate, and says so.',
  ),
  DNS_SERVERS: setting(
    list('', NAME_SERVER),
    ['api', 'worker'],
    'The name servers that are asked for the records of domains, as `address` or `address:port`, separated by commas.',
    "the host's",
  ),
  EDGE: setting(
    choice(['node', 'caddy'], 'node'),
    ['start', 'edge'],
    '`caddy` serves visitors through a Caddy that you run, see [Caddy](../how-to/caddy.md).',
  ),
  EDGE_CONNECTIONS: edge(integer(8192, 1, 1_000_000), 'Connections of all clients that one edge holds at a time.'),
  EDGE_CONNECTIONS_PER_CLIENT: edge(
    integer(512, 1, 1_000_000),
    'Connections of one client: an IPv4 address or an IPv6 /64.',
  ),
  EDGE_SLOW_CONNECTIONS: edge(
    integer(512, 1, 1_000_000),
    'Connections whose client has not read for a second what the edge holds for it.',
  ),
  EDGE_STALL_SECONDS: edge(integer(60, 1, 3600), 'Seconds without progress after which such a connection is closed.'),
  EDGE_SOCKET_DIR: edge(
    optional(),
    'For `EDGE=caddy`: the folder of the Unix sockets over which Caddy reaches the edge process. At most 83 bytes long.',
    '`DATA_DIR/edge`',
  ),
  EDGE_USERS: setting(
    list('caddy'),
    ['worker'],
    "Users of the host, by name or number and separated by commas, that run an edge, in addition to root and the platform's own user. Only they may connect to hosted ports.",
  ),
  EDGE_TLS: setting(
    choice(['off', 'internal', 'acme'], 'off'),
    ['start', 'api', 'worker', 'edge'],
    '`acme` or `internal`, with `EDGE=caddy`: services answer over HTTPS, and `EDGE_PORT` redirects there.',
  ),
  EDGE_TLS_PORT: setting(port(443), ['start', 'api', 'worker', 'edge'], 'The port of HTTPS.'),
  ACME_EMAIL: edge(optional(), 'For `EDGE_TLS=acme`: the address to which the certificate authority writes.'),
  ACME_CA: edge(
    optional(urlOf('https', 'must be the https:// address of the directory of an ACME authority')),
    "For `EDGE_TLS=acme`: the address of the authority's directory.",
    "Let's Encrypt",
  ),
  ACME_CA_ROOT: edge(
    optional(),
    'For `EDGE_TLS=acme` with an authority of your own: the file of the certificate that Caddy trusts the authority by. Caddy must be able to read it.',
  ),
  CADDY_ADMIN_URL: setting(
    text('unix:///run/caddy/admin.sock', ADMIN_ADDRESS),
    ['start', 'edge'],
    "The address of Caddy's admin API: a Unix socket, or `http://host:port`. Applications can reach an `http://` address.",
  ),
};

import { choice, integer, list, lowerCase, optional, port, setting, text, urlOf } from './setting.js';

const ADMIN_ADDRESS = {
  valid: (given: string) => /^(http:\/\/|unix:\/\/\/)./.test(given) && URL.canParse(given),
  problem: 'must be an address such as unix:///run/caddy/admin.sock or http://127.0.0.1:2019',
};

/** Settings of the edge, which visitors of hosted services reach. */
export const EDGE_SETTINGS = {
  EDGE_PORT: setting(port(8080), ['start', 'api', 'worker', 'edge'], 'The port that visitors reach.'),
  EDGE_DOMAIN: setting(
    lowerCase(text('localhost')),
    ['start', 'api', 'worker', 'edge'],
    'A service answers at `http://<slug>.<EDGE_DOMAIN>:<EDGE_PORT>`.',
  ),
  EDGE: setting(
    choice(['node', 'caddy'], 'node'),
    ['start', 'edge'],
    '`caddy` serves visitors through a Caddy that you run, see [operations](operations.md#caddy-as-the-edge).',
  ),
  EDGE_CONNECTIONS: setting(
    integer(8192, 1, 1_000_000),
    ['edge'],
    'Connections of all clients that one edge holds at a time.',
  ),
  EDGE_CONNECTIONS_PER_CLIENT: setting(
    integer(512, 1, 1_000_000),
    ['edge'],
    'Connections of one client: an IPv4 address or an IPv6 /64.',
  ),
  EDGE_SLOW_CONNECTIONS: setting(
    integer(512, 1, 1_000_000),
    ['edge'],
    'Connections whose client has not read for a second what the edge holds for it.',
  ),
  EDGE_STALL_SECONDS: setting(
    integer(60, 1, 3600),
    ['edge'],
    'Seconds without progress after which such a connection is closed.',
  ),
  EDGE_SOCKET_DIR: setting(
    optional(),
    ['edge'],
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
  ACME_EMAIL: setting(
    optional(),
    ['edge'],
    'For `EDGE_TLS=acme`: the address to which the certificate authority writes.',
  ),
  ACME_CA: setting(
    optional(urlOf('https', 'must be the https:// address of the directory of an ACME authority')),
    ['edge'],
    "For `EDGE_TLS=acme`: the address of the authority's directory.",
    "Let's Encrypt",
  ),
  CADDY_ADMIN_URL: setting(
    text('unix:///run/caddy/admin.sock', ADMIN_ADDRESS),
    ['start', 'edge'],
    "The address of Caddy's admin API: a Unix socket, or `http://host:port`. Applications can reach an `http://` address.",
  ),
};

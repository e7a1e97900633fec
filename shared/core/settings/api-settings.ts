import { hasControls } from '../plain-text.js';
import {
  flag,
  IP_ADDRESS,
  integer,
  list,
  lowerCase,
  optional,
  port,
  secret,
  setting,
  settingsOf,
  text,
  urlOf,
} from './setting.js';

const HOST_NAMES = {
  valid: (name: string) => /^[a-z0-9._-]+$/.test(name),
  problem: 'must be a comma list of host names without ports',
};
const TOKEN = {
  valid: (text: string) => /^[!-~]{16,}$/.test(text),
  problem: 'must have at least 16 visible ASCII characters',
};
/**
 * An attacker who changes the responses of the OpenID Connect provider can sign in as any user. So plain HTTP is
 * accepted only for localhost.
 */
const ISSUER = {
  valid: (text: string) =>
    /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:|\/|$))/.test(text) &&
    URL.canParse(text) &&
    !/[?#]/.test(text),
  problem: 'must be an address such as https://accounts.example.com',
};
const SCOPES = {
  valid: (text: string) => text.split(' ').includes('openid') && /^[!#-[\]-~ ]+$/.test(text),
  problem: 'must be scopes separated by spaces, with openid among them',
};
const LABEL = {
  valid: (text: string) => text.length <= 60 && !hasControls(text),
  problem: 'must be one line of at most 60 characters',
};

const api = settingsOf('api');

export const API_SETTINGS = {
  PORT: setting(port(3000), ['start', 'api'], 'The port of the API.'),
  API_ADDRESS: api(
    optional(IP_ADDRESS),
    'The IP address that the API listens on. Set `127.0.0.1` if a proxy on the same host is in front.',
    'all addresses',
  ),
  API_HOSTS: api(
    lowerCase(list('', HOST_NAMES)),
    'Further host names under which the API answers browsers, separated by commas, without ports.',
  ),
  PUBLIC_URL: setting(
    optional(urlOf('https?', 'must be an address such as https://ranvier.example.com')),
    ['start', 'api', 'worker'],
    'The address at which people, and workers with another `DATA_DIR`, reach the API. Links in e-mails lead there. With `https://`, session cookies are those of TLS.',
    '`http://localhost:<PORT>`',
  ),
  INTERNAL_URL: api(
    optional(urlOf('https?', 'must be an address such as http://10.0.0.5:3000')),
    'The address at which the other API hosts reach this one. They forward `/git/` to the host that has the repository, and workers connect to it for shells and tunnels. It is plain HTTP by default: use `https://` if the network between the hosts is not yours.',
    "`http://<this host's first address>:<PORT>`",
  ),
  TRUST_PROXY: api(
    flag(false),
    'If `true`, exactly one proxy is in front of the API; it says who calls (`X-Forwarded-For`) and whether over TLS (`X-Forwarded-Proto`).',
  ),
  RATE_LIMIT_READS_PER_MINUTE: api(
    integer(600, 1, 1_000_000),
    "Reads per minute of one credential. Requests without a credential count for the client's address (IPv6: its /64).",
  ),
  RATE_LIMIT_WRITES_PER_MINUTE: api(integer(120, 1, 1_000_000), 'The same for writes.'),
  PUSH_MAX_MB: api(
    integer(512, 1, 65_536),
    'The most that one `git push` may send, in MiB. A pushed repository may have four times as much.',
  ),
  DASHBOARD_USER: api(
    optional(),
    'The user name of `/admin/queues`. The dashboard is off without it. Set it together with `DASHBOARD_PASSWORD`.',
    "the owner's with `npm start`, else none",
  ),
  DASHBOARD_PASSWORD: api(
    secret(optional()),
    'The password of `/admin/queues`.',
    "the owner's with `npm start`, else none",
  ),
  METRICS_TOKEN: api(
    secret(optional(TOKEN)),
    'The bearer token that Prometheus sends for `/metrics`, 16 characters or more.',
  ),
  METRICS_SERVICES: api(
    integer(100, 0, 1000),
    'Services that `/metrics` names one by one: those with the most requests in the last minute. All others are one sum.',
  ),
  SMTP_URL: setting(
    secret(optional(urlOf('smtps?', 'must be an address such as smtp://user:password@host:587 or smtps://host'))),
    ['api', 'worker'],
    'The server that mails notifications and verification links. Without it, nothing is mailed. Set it together with `MAIL_FROM`.',
  ),
  MAIL_FROM: setting(optional(), ['api', 'worker'], 'The sender of these e-mails.'),
  OIDC_ISSUER: api(
    optional(ISSUER),
    'The issuer of a provider of OpenID Connect with which people sign in, see [sign-in with a provider](../how-to/sign-in-with-a-provider.md). Set it together with `OIDC_CLIENT_ID` and `OIDC_CLIENT_SECRET`.',
  ),
  OIDC_CLIENT_ID: api(optional(), 'The name of this installation at the provider.'),
  OIDC_CLIENT_SECRET: api(secret(optional()), 'The secret that belongs to this name.'),
  OIDC_NAME: api(optional(LABEL), 'What the button of the sign-in page calls the provider.', "the issuer's host"),
  OIDC_SCOPES: api(
    text('openid email profile', SCOPES),
    'What the provider is asked for. Claims that give roles may need a scope more, such as `groups`.',
  ),
};

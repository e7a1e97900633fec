/**
 * Names that people and programs take for the platform's own: services get them only with a suffix. `RESERVED_SLUGS` adds to them.
 */
const RESERVED: readonly string[] = [
  // Names that programs look up by themselves, and what mail and certificates of a domain go by.
  ...['wpad', 'isatap', 'autoconfig', 'autodiscover', 'mta-sts', 'openpgpkey', 'localhost', 'localdomain'],
  ...['broadcasthost', 'mail', 'email', 'webmail', 'smtp', 'imap', 'pop', 'pop3', 'mx', 'mx1', 'mx2'],
  ...['ns', 'ns0', 'ns1', 'ns2', 'ns3', 'ns4', 'dns', 'dns1', 'dns2', 'ftp', 'sftp', 'ssh', 'ldap', 'ntp', 'time'],
  // Certificate authorities issue certificates to those who receive mail at these.
  ...['admin', 'administrator', 'hostmaster', 'postmaster', 'webmaster', 'abuse', 'noc', 'security', 'root'],
  // What people take for a page of the platform's.
  ...['www', 'www1', 'www2', 'web', 'api', 'apis', 'console', 'dashboard', 'panel', 'portal', 'account', 'accounts'],
  ...['auth', 'oauth', 'oauth2', 'sso', 'saml', 'id', 'identity', 'login', 'signin', 'signup', 'logout', 'password'],
  ...['billing', 'pay', 'payment', 'payments', 'invoice', 'invoices', 'support', 'help', 'status', 'official'],
  // Names that the platform uses, or may use later.
  ...[
    'ranvier',
    'platform',
    'internal',
    'intranet',
    'system',
    'metadata',
    'gateway',
    'host',
    'edge',
    'registry',
    'git',
  ],
  ...['caddy', 'traefik', 'proxy', 'vpn', 'cdn', 'queues', 'webhooks', 'hooks', 'healthz', 'metrics'],
];

/** Returns the names that no service gets as they are: the built-in ones and an installation's own. */
export function reservedSlugs(further: Iterable<string>): ReadonlySet<string> {
  return new Set([...RESERVED, ...further]);
}

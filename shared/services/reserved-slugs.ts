/** Slugs that people or programs would take for the platform's own. */
const RESERVED: readonly string[] = [
  // Names that programs look up automatically, and names with a special meaning for a domain's mail or certificates.
  ...['wpad', 'isatap', 'autoconfig', 'autodiscover', 'mta-sts', 'openpgpkey', 'localhost', 'localdomain'],
  ...['broadcasthost', 'mail', 'email', 'webmail', 'smtp', 'imap', 'pop', 'pop3', 'mx', 'mx1', 'mx2'],
  ...['ns', 'ns0', 'ns1', 'ns2', 'ns3', 'ns4', 'dns', 'dns1', 'dns2', 'ftp', 'sftp', 'ssh', 'ldap', 'ntp', 'time'],
  // Certificate authorities issue certificates to the owner of a mailbox with one of these names.
  ...['admin', 'administrator', 'hostmaster', 'postmaster', 'webmaster', 'abuse', 'noc', 'security', 'root'],
  // Names that users would take for pages of the platform.
  ...['www', 'www1', 'www2', 'web', 'api', 'apis', 'console', 'dashboard', 'panel', 'portal', 'account', 'accounts'],
  ...['auth', 'oauth', 'oauth2', 'sso', 'saml', 'id', 'identity', 'login', 'signin', 'signup', 'logout', 'password'],
  ...['billing', 'pay', 'payment', 'payments', 'invoice', 'invoices', 'support', 'help', 'status', 'official'],
  // Names that the platform uses, or may use later.
  ...['ranvier', 'platform', 'internal', 'intranet', 'system', 'metadata', 'gateway', 'host', 'edge', 'registry'],
  ...['git', 'caddy', 'traefik', 'proxy', 'vpn', 'cdn', 'queues', 'webhooks', 'hooks', 'healthz', 'metrics'],
];

/** Returns the slugs that services get only with a suffix. `further` contains the installation's own reserved slugs. */
export function reservedSlugs(further: Iterable<string>): ReadonlySet<string> {
  return new Set([...RESERVED, ...further]);
}

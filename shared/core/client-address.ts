import ipaddr from 'ipaddr.js';

/** Providers usually assign a whole /64 to one IPv6 client. */
const CLIENT_PREFIX = 64;
/** Providers usually assign at most a /48 to one customer. */
const SITE_PREFIX = 48;
/** IPv6 ranges that embed an IPv4 address (their names in ipaddr.js), and the index of that address's first byte. */
const EMBEDDED: Readonly<Record<string, number>> = { ipv4Mapped: 12, rfc6052: 12, rfc6145: 12, '6to4': 2 };
const WITH_PORT = /^\[([^\]]+)\](?::\d+)?$|^(\d+\.\d+\.\d+\.\d+):\d+$/;

/**
 * Returns the key by which rate limits count a client: the IPv4 address or the IPv6 /64. Text that is no address gives
 * 'unknown', so that a client cannot choose a new key for each request.
 */
export function clientKey(address: string | undefined): string {
  const text = (address ?? '').trim();
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const bare = bracketed ?? plain ?? text;
  // ipaddr.js also accepts "1" and "0x7f.1" as IPv4 addresses.
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return bare;
  if (!ipaddr.IPv6.isValid(bare)) return 'unknown';
  const parsed = ipaddr.IPv6.parse(bare);
  const bytes = parsed.toByteArray();
  const embedded = EMBEDDED[parsed.range()];
  if (embedded !== undefined) return bytes.slice(embedded, embedded + 4).join('.');
  if (parsed.range() === 'loopback') return '::1';
  return networkOf(bytes, CLIENT_PREFIX);
}

/** Returns the /48 of a client that is an IPv6 /64, and any other client key unchanged. */
export function siteOf(client: string): string {
  const [network = '', prefix] = client.split('/');
  if (prefix !== String(CLIENT_PREFIX)) return client;
  return networkOf(ipaddr.IPv6.parse(network).toByteArray(), SITE_PREFIX);
}

function networkOf(bytes: number[], prefix: number): string {
  const network = [...bytes.slice(0, prefix / 8), ...Array(16 - prefix / 8).fill(0)];
  return `${ipaddr.fromByteArray(network).toString()}/${prefix}`;
}

/** Returns true for an address that only processes of this host can reach. */
export function isLoopback(address: string): boolean {
  const key = clientKey(address);
  return key === '::1' || key.startsWith('127.');
}

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { plainLine } from '../core/plain-text.js';

export const DOMAIN_STATUSES = ['pending', 'active'] as const;
type DomainStatus = (typeof DOMAIN_STATUSES)[number];

export interface DomainRow {
  id: string;
  workspace_id: string;
  service_id: string;
  hostname: string;
  status: DomainStatus;
  detail: string;
  leads_here: boolean;
  /** Host name to which every request is redirected; null if requests are served. */
  redirect_to: string | null;
  missing_since: Date | null;
  next_check_at: Date;
  released_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const PROOF_LABEL = '_ranvier';
/**
 * DNS names have at most 253 characters. The name of the TXT record that proves the ownership is `PROOF_LABEL`, a dot
 * and the host name.
 */
const MAX_HOSTNAME_LENGTH = 253 - PROOF_LABEL.length - 1;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
const UNSERVED = ['localhost', 'local', 'internal', 'invalid', 'onion', 'arpa'];

export const Hostname = plainLine(300, {
  minLength: 1,
  description:
    'one line without control characters. A host name such as shop.example.com, at most 244 characters in ASCII; no wildcard, no address ' +
    'and no name of the platform',
});

/** Thrown if a host name cannot be a service's domain. The message says why. */
export class HostnameError extends Error {}

/** Returns the host name in lower case and ASCII. Throws `HostnameError`, also for `own` names and their subdomains. */
export function parseHostname(given: string, own: readonly string[]): string {
  const trimmed = given.trim().replace(/\.$/, '');
  if (trimmed.startsWith('*.')) {
    throw new HostnameError('is a wildcard: a wildcard is not served, so add each name that visitors use');
  }
  if (isIP(trimmed) !== 0) throw new HostnameError('is an address: give a name such as shop.example.com');
  // `domainToASCII` accepts more than host names, so the result is checked label by label.
  const name = /[\s/?#@:%\\[\]]/.test(trimmed) ? '' : domainToASCII(trimmed).toLowerCase();
  const labels = name.split('.');
  const last = labels.at(-1) ?? '';
  if (labels.length < 2 || !labels.every((label) => LABEL.test(label)) || /^\d+$/.test(last)) {
    throw new HostnameError('must be a host name such as shop.example.com');
  }
  if (name.length > MAX_HOSTNAME_LENGTH) throw new HostnameError(`must have at most ${MAX_HOSTNAME_LENGTH} characters`);
  if (UNSERVED.includes(last)) throw new HostnameError(`ends in .${last}: no name server proves who owns such a name`);
  const taken = own.find((mine) => name === mine || name.endsWith(`.${mine}`));
  if (taken !== undefined) throw new HostnameError(`belongs to the platform's own name ${taken}`);
  return name;
}

/**
 * Returns the host name of a redirect's target, which may be a subdomain of a name in `own`. Throws `HostnameError`.
 */
export function parseRedirectTarget(given: string, own: readonly string[]): string {
  const name = given.toLowerCase();
  const isOurs = own.some((mine) => name.endsWith(`.${mine}`)) && /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name);
  return isOurs ? name : parseHostname(given, []);
}

/**
 * Returns the TXT record that proves the ownership of a host name. It differs per workspace, so that a record left
 * behind by one workspace proves nothing for another.
 */
export function proofOf(workspaceId: string, hostname: string): { type: 'TXT'; name: string; value: string } {
  const token = createHash('sha256').update(`ranvier-domain\n${workspaceId}\n${hostname}`).digest('base64url');
  return { type: 'TXT', name: `${PROOF_LABEL}.${hostname}`, value: `ranvier-verification=${token.slice(0, 32)}` };
}

/** The result of a DNS check. `proof` is `away` if the name servers were unreachable. */
export interface Observation {
  proof: 'found' | 'missing' | 'different' | 'away';
  /** True if the host name resolves to an edge; null if unknown. */
  leadsHere: boolean | null;
  addresses: readonly string[];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A verified domain without its TXT record stays verified until the third daily check. */
const MISSING_MS = 2 * DAY - HOUR;
/** An unverified domain is checked again after a tenth of its age, between these limits. */
const FIRST_MS = MINUTE;
const PENDING_MS = 6 * HOUR;

export type DomainFacts = Pick<
  DomainRow,
  'status' | 'missing_since' | 'leads_here' | 'hostname' | 'workspace_id' | 'created_at'
>;

export type DomainVerdict = Pick<DomainRow, 'status' | 'detail' | 'missing_since' | 'leads_here' | 'next_check_at'>;

/** Decides the status of a domain after a DNS check. */
export function judgeDomain(domain: DomainFacts, seen: Observation, now: Date): DomainVerdict {
  const leadsHere = seen.leadsHere ?? domain.leads_here;
  const verdict = (status: DomainStatus, missingSince: Date | null, detail: string): DomainVerdict => ({
    status,
    detail,
    missing_since: missingSince,
    leads_here: leadsHere,
    next_check_at: nextCheck(status, domain.created_at, now),
  });
  const elsewhere = leadsHere
    ? ''
    : `${domain.hostname} leads to ${seen.addresses.join(', ') || 'no address'}, not to this platform`;
  if (seen.proof === 'found') return verdict('active', null, elsewhere);
  const { name, value } = proofOf(domain.workspace_id, domain.hostname);
  if (seen.proof === 'away') {
    const detail = `the name servers could not be asked for ${name}`;
    return {
      ...verdict(domain.status, domain.missing_since, detail),
      next_check_at: new Date(now.getTime() + 10 * MINUTE),
    };
  }
  const record = `the TXT record ${name} ${seen.proof === 'missing' ? 'does not exist' : 'has another value'}; set it to ${value}`;
  if (domain.status === 'pending') return verdict('pending', null, record);
  const since = domain.missing_since ?? now;
  const lost = now.getTime() - since.getTime() >= MISSING_MS;
  return lost
    ? verdict('pending', null, record)
    : verdict('active', since, `${record}, or the name stops being served`);
}

function nextCheck(status: DomainStatus, createdAt: Date, now: Date): Date {
  const age = now.getTime() - createdAt.getTime();
  const wait = status === 'active' ? DAY : Math.min(PENDING_MS, Math.max(FIRST_MS, age / 10));
  return new Date(now.getTime() + wait);
}

import { Resolver } from 'node:dns/promises';
import type { Observation } from './model.js';
import { proofOf } from './model.js';

const TIMEOUT_MS = 2_000;
const TRIES = 2;

/** Codes of DNS errors that mean that the record does not exist. Other errors, such as a timeout, prove nothing. */
const NOTHING: readonly unknown[] = ['ENOTFOUND', 'ENODATA'];

export interface NameServerSettings {
  /** Name servers as `address` or `address:port`. If there are none, the host's name servers are used. */
  dnsServers: readonly string[];
  /** Addresses of the edges, spelled as name servers return them; empty if EDGE_ADDRESSES is not set. */
  edgeAddresses: readonly string[];
}

/** Checks a domain's DNS records. Never throws; resolves within about 10 s. */
export async function observeDomain(
  { dnsServers, edgeAddresses }: NameServerSettings,
  domain: { workspace_id: string; hostname: string },
): Promise<Observation> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (dnsServers.length > 0) resolver.setServers(dnsServers);
  const { name, value } = proofOf(domain.workspace_id, domain.hostname);
  const [texts, ...addresses] = await Promise.all([
    ask(resolver.resolveTxt(name)),
    ...(edgeAddresses.length === 0
      ? []
      : [ask(resolver.resolve4(domain.hostname)), ask(resolver.resolve6(domain.hostname))]),
  ]);
  return { proof: proofIn(texts, value), ...placeOf(addresses, edgeAddresses) };
}

/** Returns the records that the name servers found, or null if they gave no usable answer. */
async function ask<Record>(question: Promise<Record[]>): Promise<Record[] | null> {
  try {
    return await question;
  } catch (error) {
    return NOTHING.includes((error as NodeJS.ErrnoException).code) ? [] : null;
  }
}

function proofIn(texts: string[][] | null, value: string): Observation['proof'] {
  if (texts === null) return 'away';
  // Name servers split a long TXT record into parts.
  if (texts.some((parts) => parts.join('').trim() === value)) return 'found';
  return texts.length === 0 ? 'missing' : 'different';
}

function placeOf(answers: (string[] | null)[], edgeAddresses: readonly string[]) {
  const addresses = answers.flatMap((answer) => answer ?? []);
  if (edgeAddresses.length === 0) return { leadsHere: null, addresses };
  if (addresses.some((address) => edgeAddresses.includes(address))) return { leadsHere: true, addresses };
  return { leadsHere: answers.includes(null) ? null : false, addresses };
}

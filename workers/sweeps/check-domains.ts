import { applyObservation } from '../../shared/domains/commands.js';
import type { DomainRow } from '../../shared/domains/model.js';
import { observeDomain } from '../../shared/domains/name-servers.js';
import { claimDueDomains } from '../../shared/domains/store.js';
import { sweepEach } from '../core/sweep-each.js';
import type { JobDeps } from '../worker-deps.js';

const BATCH = 20;

/** Queries the DNS for domains whose check is due. Returns a line for each domain whose status changed. */
export async function checkDomains(deps: Pick<JobDeps, 'db' | 'config' | 'log'>): Promise<string[]> {
  const failure = 'a domain was not checked';
  const facts = ({ hostname }: DomainRow) => ({ hostname });
  const due = await claimDueDomains(deps.db, BATCH);
  return sweepEach(due, { ...deps, atOnce: BATCH, failure, facts }, (domain) => check(deps, domain));
}

async function check({ db, config }: Pick<JobDeps, 'db' | 'config'>, domain: DomainRow): Promise<string[]> {
  const seen = await observeDomain(config, domain);
  const now = await applyObservation(db, domain, seen, new Date());
  return now === undefined || now.status === domain.status ? [] : [`domain ${domain.hostname} is ${now.status} now`];
}

import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict, invalidRequest } from '../core/error-registry.js';
import { hashPassword, QUICK } from '../secrets/password.js';
import { isRouted } from '../services/model.js';
import type { ServiceRow } from '../services/rows.js';
import type { Rule, RuleInput, RuleUser } from './model.js';
import { listRules, saveRules } from './store.js';

/**
 * Replaces the rules of a locked service, and returns the stored rules. A user without a password keeps the password
 * stored for that name. If none is stored, throws invalid_request unless `mayLack` is set. Also throws service_archived
 * and conflict.
 */
export async function setRules(
  trx: Transaction,
  service: Pick<ServiceRow, 'id' | 'kind' | 'archived'>,
  rules: readonly RuleInput[],
  { mayLack = false } = {},
): Promise<Rule[]> {
  if (service.archived) throw new AppError('service_archived');
  if (!isRouted(service.kind)) {
    throw conflict(`A service of kind ${service.kind} has no visitors: only web and static services have rules`);
  }
  if (service.kind !== 'web' && rules.some(({ type }) => type === 'canary')) {
    throw conflict(
      `A service of kind ${service.kind} has no canary: only replicas of web services serve beside those of the release before`,
    );
  }
  const before = await listRules(trx, service.id);
  const stored: Rule[] = [];
  for (const [at, { users, ...rule }] of rules.entries()) {
    const hashed: RuleUser[] = [];
    for (const [place, { name, password }] of users?.entries() ?? []) {
      const hash = password === undefined ? knownHash(before, rule, name) : await hashPassword(password, QUICK);
      if (hash === null && !mayLack) {
        throw invalidRequest(`/rules/${at}/users/${place}/password`, 'is required: the user has none yet');
      }
      hashed.push({ name, hash });
    }
    stored.push(users === undefined ? rule : { ...rule, users: hashed });
  }
  await saveRules(trx, service.id, stored);
  return stored;
}

/**
 * Returns the hash of a user's stored password; null if there is none. If several rules have a user of this name,
 * prefers the rule for the same paths.
 */
function knownHash(before: readonly Rule[], { for: paths }: Omit<RuleInput, 'users'>, name: string): string | null {
  const all = before.filter(({ users }) => users?.some((user) => user.name === name));
  const rule = all.find((one) => one.for === paths) ?? all[0];
  return rule?.users?.find((user) => user.name === name)?.hash ?? null;
}

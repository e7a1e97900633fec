import { type Db, oneValue, rowsOf, type Transaction } from '../core/database/database-client.js';
import { publishRouteChange } from '../services/publish-route.js';
import type { Rule, SiteRules } from './model.js';

/** Returns the rules of a service, in order. */
export async function listRules(db: Db, serviceId: string): Promise<Rule[]> {
  return (await oneValue<Rule[]>(db, 'select rules from service_rules where service_id = ?', [serviceId])) ?? [];
}

/** Replaces the rules of a service, and notifies the edges. */
export async function saveRules(trx: Transaction, serviceId: string, rules: readonly Rule[]): Promise<void> {
  const version = await publishRouteChange(trx, serviceId);
  if (rules.length === 0) await trx.raw('delete from service_rules where service_id = ?', [serviceId]);
  else {
    await trx.raw(
      `insert into service_rules (service_id, version, rules) values (?, ?, ?)
       on conflict (service_id) do update set version = excluded.version, rules = excluded.rules, updated_at = now()`,
      [serviceId, version, JSON.stringify(rules)],
    );
  }
}

/** The rules that an edge compiles for a service: the service's own, and those of its live site. */
export interface RuleSource {
  serviceId: string;
  /** The `rulesKey` of the route facts, which changes when the rules change. */
  rulesKey: string;
  rules: Rule[];
  site: SiteRules | null;
}

/**
 * SQL: a key that changes with the rules of the service `s`; '' if there are none. `u` is the service's row of
 * `service_rules`, and `i` is its live image.
 */
export const RULES_KEY = `case when u.version is null and i.manifest -> 'siteRules' is null then ''
  else concat(u.version, '/', case when i.manifest -> 'siteRules' is null then '' else i.digest end) end`;

/** Returns the rules of these services. Omits services that have none. */
export async function loadRules(db: Db, serviceIds: readonly string[]): Promise<RuleSource[]> {
  return rowsOf<RuleSource>(
    db,
    `select s.id as "serviceId", ${RULES_KEY} as "rulesKey", coalesce(u.rules, '[]') as rules,
            i.manifest -> 'siteRules' as site
       from services s
       left join service_rules u on u.service_id = s.id
       left join deployments d on d.id = s.live_deployment_id
       left join images i on i.id = d.image_id
      where s.id = any(cast(:serviceIds as uuid[])) and (u.version is not null or i.manifest -> 'siteRules' is not null)`,
    { serviceIds: [...serviceIds] },
  );
}

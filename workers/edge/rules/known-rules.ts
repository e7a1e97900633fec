import type { Db } from '../../../shared/core/database/database-client.js';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import type { RouteFacts } from '../../../shared/routing/store.js';
import { loadRules, type RuleSource } from '../../../shared/rules/store.js';
import { compileRules, type RuleSet } from './rule-set.js';

/** The compiled rules of services. Only rules that have changed are loaded and compiled again. */
export class KnownRules {
  readonly #log: Logger;
  readonly #known = new Map<string, RuleSet>();

  constructor(log: Logger) {
    this.#log = log;
  }

  get known(): ReadonlyMap<string, RuleSet> {
    return this.#known;
  }

  keepOnly(services: ReadonlyMap<string, unknown>): void {
    for (const serviceId of this.#known.keys()) if (!services.has(serviceId)) this.#known.delete(serviceId);
  }

  /**
   * Loads missing and outdated rules of these services (`rulesKey`). Forgets the rules of services that no longer have
   * any.
   */
  async refresh(db: Db, facts: readonly RouteFacts[]): Promise<void> {
    const wanted = facts.filter(({ rulesKey, deleted }) => rulesKey !== '' && !deleted);
    const missing = wanted.filter(({ serviceId, rulesKey }) => this.#known.get(serviceId)?.key !== rulesKey);
    const sources =
      missing.length === 0
        ? []
        : await loadRules(
            db,
            missing.map(({ serviceId }) => serviceId),
          );
    const without = new Set(facts.map(({ serviceId }) => serviceId));
    for (const { serviceId } of wanted) without.delete(serviceId);
    for (const serviceId of without) this.#known.delete(serviceId);
    for (const source of sources) this.#known.set(source.serviceId, this.#compiled(source));
  }

  /** Rules that cannot be compiled refuse every request, because a rule may require a password. */
  #compiled(source: RuleSource): RuleSet {
    try {
      return compileRules(source);
    } catch (error) {
      this.#log.error({ serviceId: source.serviceId }, `rules cannot be applied: ${errorMessage(error)}`);
      return compileRules({ rulesKey: source.rulesKey, rules: [{ type: 'maintenance' }], site: null });
    }
  }
}

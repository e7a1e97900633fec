import type { ErrorDetail } from '../errors.js';
import { DATABASE_PLANS, PLANS } from './catalog.js';
import type { ServiceConfiguration } from './configuration.js';
import type { ServiceKind } from './service.js';

/** What fields of a configuration say against each other, which no schema of single fields can tell. */
export function configurationProblems(kind: ServiceKind, configuration: ServiceConfiguration): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  const plans = kind === 'postgres' || kind === 'redis' ? DATABASE_PLANS : PLANS;
  if (!plans.some((plan) => plan.id === configuration.plan)) {
    problems.push({ path: '/configuration/plan', message: `is no plan for services of kind ${kind}` });
  }
  if (configuration.minReplicas > configuration.maxReplicas) {
    problems.push({ path: '/configuration/minReplicas', message: 'must not exceed maxReplicas' });
  }
  return problems;
}

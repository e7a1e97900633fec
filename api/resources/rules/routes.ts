import { Type } from 'typebox';
import { AppError } from '../../../shared/core/error-registry.js';
import { problemsOfRules } from '../../../shared/rules/check-rules.js';
import { setRules } from '../../../shared/rules/commands.js';
import { MAX_RULES, presentRule, RuleInput, RuleSchema } from '../../../shared/rules/model.js';
import { listRules } from '../../../shared/rules/store.js';
import { defineRoute } from '../../http/route.js';
import { Strict } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';

const SetRulesBody = Strict({
  rules: Type.Array(RuleInput, { maxItems: MAX_RULES, description: 'In order; they replace all rules of the service' }),
});
const RulesResponse = Strict({ rules: Type.Array(RuleSchema) });

const PATH = '/workspaces/:workspaceId/services/:serviceId/rules';

/** The rules that the edges apply to requests for a service. They take effect within a second, without a deployment. */
export const ruleRoutes = [
  defineRoute('GET', PATH, 'rule.list', {
    summary: 'List rules of the edge',
    description: 'The rules of a service in their order. Passwords are never shown.',
    response: RulesResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return { rules: (await listRules(request.db, id)).map(presentRule) };
    },
  }),
  defineRoute('PUT', PATH, 'rule.set', {
    summary: 'Set rules of the edge',
    description:
      'Replaces all rules of a web or static service. The edges follow within a second. A user without a password keeps the one that the service has for this name.',
    errors: ['conflict', 'service_archived'],
    body: SetRulesBody,
    example: { rules: [{ type: 'redirect', from: '/old/:page', to: '/new/:page', status: 301 }] },
    response: RulesResponse,
    handler: async (request) => {
      const { trx, body } = request;
      const problems = problemsOfRules(body.rules);
      if (problems.length > 0) throw new AppError('invalid_request', undefined, problems);
      const service = await lockService(request);
      return { rules: (await setRules(trx, service, body.rules)).map(presentRule) };
    },
  }),
];

import { Type } from 'typebox';
import { MAX_RULES, RuleInput, RuleSchema } from '../../../shared/rules/model.js';
import { Strict } from '../../http/schema.js';

export type { RuleView } from '../../../shared/rules/model.js';

export const SetRulesBody = Strict({
  rules: Type.Array(RuleInput, { maxItems: MAX_RULES, description: 'In order; they replace all rules of the service' }),
});
export const RulesResponse = Strict({ rules: Type.Array(RuleSchema) });

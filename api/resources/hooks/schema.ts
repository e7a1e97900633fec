import { type Static, Type } from 'typebox';
import { HOOK_PROVIDERS } from '../../../shared/hooks/model.js';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const FIELDS = {
  id: Uuid,
  url: Type.String(),
  provider: oneOf('HookProvider', HOOK_PROVIDERS),
  stack: Type.Boolean({ description: 'True if a push to the branch of the service applies ranvier.yaml' }),
  createdAt: Timestamp,
  lastDeliveryAt: Nullable(Timestamp),
  lastOutcome: Type.String(),
};

const HookSchema = Strict(FIELDS, 'Hook');
export type HookView = Static<typeof HookSchema>;

export const HookResponse = Strict({ hook: HookSchema });
export const HookListResponse = Strict({ hooks: Type.Array(HookSchema), page: PageSchema });
export const CreateHookBody = Strict({
  provider: oneOf('HookProvider', HOOK_PROVIDERS),
  stack: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Applies ranvier.yaml of each commit that is pushed to the branch of the service',
    }),
  ),
});
/** No other answer contains the secret. */
export const CreatedHookResponse = Strict({ hook: Strict({ ...FIELDS, secret: Type.String() }) });

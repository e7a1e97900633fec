import { type Static, Type } from 'typebox';
import type { Config } from '../../../shared/core/config.js';
import { HOOK_PROVIDERS, hookPath } from '../../../shared/hooks/model.js';
import { MAX_URL_LENGTH } from '../../../shared/webhooks/model.js';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import type { ShownHook } from './store.js';

const FIELDS = {
  id: Uuid,
  url: Type.String(),
  provider: oneOf('HookProvider', HOOK_PROVIDERS),
  stack: Type.Boolean({ description: 'True if a push to the branch of the service applies ranvier.yaml' }),
  createdAt: Timestamp,
  lastDeliveryAt: Nullable(Timestamp),
  lastOutcome: Type.String(),
  hasToken: Type.Boolean({ description: 'True if the states of deployments are reported to the git host' }),
  reports: Nullable(
    Strict(
      {
        apiUrl: Type.String(),
        project: Type.String({ description: "The repository's path at the git host" }),
        lastSentAt: Nullable(Timestamp),
        lastError: Type.String({ description: 'Why the newest report was not sent; empty if it was' }),
      },
      'HookReports',
    ),
  ),
};

const HookSchema = Strict(FIELDS, 'Hook');
type HookView = Static<typeof HookSchema>;

export const HookResponse = Strict({ hook: HookSchema });
export const HookListResponse = Strict({ hooks: Type.Array(HookSchema), page: PageSchema });

const token = (pattern: string) =>
  Type.String({
    maxLength: 1000,
    pattern,
    description: "The git host's token with which states of deployments are reported; no answer contains it",
  });
const ApiUrl = Type.String({
  maxLength: MAX_URL_LENGTH,
  pattern: '^[!-~]*$',
  description: "The address of the git host's API, if it does not follow from the repository's address",
});

export const CreateHookBody = Strict({
  provider: oneOf('HookProvider', HOOK_PROVIDERS),
  stack: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Applies ranvier.yaml of each commit that is pushed to the branch of the service',
    }),
  ),
  token: Type.Optional(token('^[!-~]{8,}$')),
  apiUrl: Type.Optional(ApiUrl),
});
/** An empty token removes the stored one, so that deployments are no longer reported to the git host. */
export const UpdateHookBody = Strict({ token: token('^(?:[!-~]{8,})?$'), apiUrl: Type.Optional(ApiUrl) });
/** No other response contains the secret. */
export const CreatedHookResponse = Strict({ hook: Strict({ ...FIELDS, secret: Type.String() }) });

/** Presents a hook without secret and token. The `url` of a deploy hook lacks the key that a call needs. */
export function presentHook(row: ShownHook, { publicUrl }: Pick<Config, 'publicUrl'>): HookView {
  return {
    id: row.id,
    url: publicUrl + hookPath(row.id),
    provider: row.provider,
    stack: row.stack_by !== null,
    createdAt: row.created_at.toISOString(),
    lastDeliveryAt: row.delivered_at?.toISOString() ?? null,
    lastOutcome: row.outcome,
    hasToken: row.api_url !== null,
    reports:
      row.api_url === null
        ? null
        : {
            apiUrl: row.api_url,
            project: row.project ?? '',
            lastSentAt: row.sent_at?.toISOString() ?? null,
            lastError: row.report_error ?? '',
          },
  };
}

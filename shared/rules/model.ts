import { type Static, Type } from 'typebox';
import { Strict } from '../core/json-schema.js';
import { CONTROL, plainLine, plainText } from '../core/plain-text.js';
import { oneOf } from '../services/configuration.js';
import { HEADER_NAME } from './rule-headers.js';

export const MAX_RULES = 1_000;
/** Limited because hashing a new password takes some 50 ms of the request that sets the rules. */
export const MAX_USERS = 20;
const RULE_TYPES = ['redirect', 'rewrite', 'headers', 'basicAuth', 'rateLimit', 'maintenance', 'canary'] as const;
export const CANARY_MINUTES = 10;
export type RuleType = (typeof RULE_TYPES)[number];
export const REDIRECT_STATUSES = [301, 302, 303, 307, 308] as const;

const path = (description: string) => plainLine(1_024, { minLength: 1, description });
const PATTERN = 'one line: a pattern of paths, such as /blog/:year/*';
const fields = {
  for: Type.Optional(path(`${PATTERN}. The paths that the rule applies to`)),
  from: Type.Optional(path(`${PATTERN}. The paths that a redirect or a rewrite applies to`)),
  to: Type.Optional(path('one line: a path or, for a redirect, an http or https address. May have :name and :splat')),
  status: Type.Optional(Type.Integer({ description: 'Of a redirect: 301 (default), 302, 303, 307 or 308' })),
  force: Type.Optional(
    Type.Boolean({ description: 'If true, the rule acts even if the static site has a file there' }),
  ),
  query: Type.Optional(
    Type.Record(Type.String({ pattern: `^[^${CONTROL}]{1,100}$` }), plainLine(256), {
      additionalProperties: false,
      maxProperties: 10,
      description: 'Parameters that the request must have; a value such as :id takes any',
    }),
  ),
  set: Type.Optional(
    Type.Record(Type.String({ pattern: HEADER_NAME }), plainLine(4_096, { minLength: 1 }), {
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 50,
      description: 'Headers that the answer gets',
    }),
  ),
  remove: Type.Optional(
    Type.Array(plainLine(100, { minLength: 1 }), { maxItems: 50, description: 'Headers that the answer loses' }),
  ),
  realm: Type.Optional(
    Type.String({
      maxLength: 100,
      pattern: '^[ !#-\\[\\]-~]*$',
      description:
        'printable ASCII without quotes and backslashes. What the browser shows when it asks for the password',
    }),
  ),
  requests: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Requests of one address' })),
  perSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600, description: 'In this time' })),
  percent: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 99, description: 'Of a canary: the share of visitors who get a new release' }),
  ),
  minutes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_440,
      description: `Of a canary: how long it lasts; ${CANARY_MINUTES} if absent`,
    }),
  ),
  message: Type.Optional(plainText(1_000, { description: 'a text without control characters. What the page says' })),
};
const USER_NAME = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: `^[^:${CONTROL}]*$`,
  description: 'a name without colons and control characters',
});
const type = oneOf('RuleType', RULE_TYPES);

/** A rule as callers send it. `FIELDS` lists the fields of each type. */
export const RuleInput = Strict(
  {
    type,
    ...fields,
    users: Type.Optional(
      Type.Array(
        Strict({
          name: USER_NAME,
          password: Type.Optional(
            plainLine(256, {
              minLength: 1,
              description: 'one line without control characters. Absent: the user of this name keeps its password',
            }),
          ),
        }),
        { minItems: 1, maxItems: MAX_USERS },
      ),
    ),
  },
  'RuleInput',
);
export type RuleInput = Static<typeof RuleInput>;

const shown = {
  type,
  ...fields,
  users: Type.Optional(Type.Array(Strict({ name: USER_NAME }), { minItems: 1, maxItems: MAX_USERS })),
};
/** A rule as responses show it, without passwords. */
export const RuleSchema = Strict(shown, 'Rule');
export type RuleView = Static<typeof RuleSchema>;
/** A rule in a stack's document, also without passwords. */
export const DocumentRule = Strict(shown);

/** A rule as it is stored: users have the hashes of their passwords. */
export type Rule = Omit<RuleInput, 'users'> & { users?: RuleUser[] };
export interface RuleUser {
  name: string;
  /** Null if the user has no password yet. Every password is then wrong. */
  hash: string | null;
}

/** Returns a rule without the hashes of its passwords. Its fields are in the order of the schema. */
export function presentRule({ users, ...rule }: Rule): RuleView {
  const shownRule = users === undefined ? rule : { ...rule, users: users.map(({ name }) => ({ name })) };
  const order = Object.keys(shown);
  const byOrder = ([a]: [string, unknown], [b]: [string, unknown]) => order.indexOf(a) - order.indexOf(b);
  return Object.fromEntries(Object.entries(shownRule).sort(byOrder)) as RuleView;
}

export const FIELDS: Readonly<
  Record<RuleType, { needs: readonly (keyof RuleInput)[]; may: readonly (keyof RuleInput)[] }>
> = {
  redirect: { needs: ['from', 'to'], may: ['status', 'force', 'query'] },
  rewrite: { needs: ['from', 'to'], may: ['force', 'query'] },
  headers: { needs: ['for'], may: ['set', 'remove'] },
  basicAuth: { needs: ['for', 'users'], may: ['realm'] },
  rateLimit: { needs: ['for', 'requests', 'perSeconds'], may: [] },
  maintenance: { needs: [], may: ['for', 'message'] },
  canary: { needs: ['percent'], may: ['minutes'] },
};

/** A redirect (3xx), or a rewrite, which answers with another path's content. */
export interface MoveRule {
  /** A pattern of paths. In a site's files, an origin may precede it. */
  from: string;
  to: string;
  status: number;
  /** True if the rule applies even if the site has a file at the path. */
  force: boolean;
  /** Query parameters that the request must have. A value `:name` matches any value. */
  query: Readonly<Record<string, string>>;
}

/** The rules in a site's files `_redirects` and `_headers`. Stored in the manifest of the site's image. */
export interface SiteRules {
  moves: MoveRule[];
  headers: { for: string; values: Record<string, string> }[];
  /** Paths for which `_headers` requires a password (`Basic-Auth`). */
  auth: { for: string; users: RuleUser[] }[];
}

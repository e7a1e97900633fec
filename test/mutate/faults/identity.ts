// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const SESSIONS = 'shared/identity/session-store.ts';
const POLICY = 'shared/identity/policy.ts';
const AUTHENTICATE = 'api/auth/authenticate.ts';
const AUTHORIZE = 'api/auth/authorize.ts';

export const IDENTITY_FAULTS: readonly Fault[] = [
  {
    name: 'session: never idle',
    file: SESSIONS,
    find: 's.expires_at > now() and s.seen_at > now() - ${IDLE}',
    replace: 's.expires_at > now()',
  },
  { name: 'session: never expires', file: SESSIONS, find: 's.expires_at > now() and s.seen_at', replace: 's.seen_at' },
  {
    name: 'session: good for every client',
    file: SESSIONS,
    find: ' and s.client is not distinct from :client',
    replace: '',
  },
  {
    name: 'session: the surplus that ends is the newest',
    file: SESSIONS,
    find: 'order by seen_at desc, id desc offset',
    replace: 'order by seen_at, id offset',
  },
  {
    name: 'session: others survive a change of the second factor',
    file: SESSIONS,
    find: 'where user_id = ? and id <> ?',
    replace: 'where user_id = ? and id = ? and false',
  },
  {
    name: 'session: survives a new password',
    file: 'shared/identity/store.ts',
    find: 'await deleteSessions(trx, userId);',
    replace: '',
  },
  {
    name: 'session: a code is good twice',
    file: 'shared/identity/second-factor-store.ts',
    find: 'totp_counter < :counter',
    replace: 'totp_counter <= :counter',
  },
  {
    name: 'session: a token that verifies an address never expires',
    file: 'shared/identity/store.ts',
    find: ' and verification_expires_at > now()',
    replace: '',
  },
  {
    name: 'session: a client is known for good',
    file: SESSIONS,
    find: ' and k.seen_at > now() - ${REMEMBERED}',
    replace: '',
  },
  {
    name: 'policy: a developer writes in a protected environment',
    file: POLICY,
    find: "protectedRole: 'admin'",
    replace: "protectedRole: 'developer'",
  },
  { name: 'policy: a key that only reads may write', file: POLICY, find: "facts.scope !== 'write' || ", replace: '' },
  { name: 'policy: no second factor is needed', file: POLICY, find: 'if (facts.mfaMissing)', replace: 'if (false)' },
  {
    name: 'policy: an address need not be verified',
    file: POLICY,
    find: 'if (!facts.emailVerified)',
    replace: 'if (false)',
  },
  {
    name: 'policy: a role has no rights of its own',
    file: POLICY,
    find: 'ROLES.indexOf(role) >= ROLES.indexOf(needed)',
    replace: 'ROLES.indexOf(role) > ROLES.indexOf(needed)',
  },
  {
    name: 'policy: a viewer changes settings of the workspace',
    file: POLICY,
    find: "ADMIN = { access: 'write', role: 'admin' }",
    replace: "ADMIN = { access: 'write', role: 'viewer' }",
  },
  {
    name: 'session: its old token stays good',
    file: SESSIONS,
    find: 'set token_hash = :tokenHash, second_factor',
    replace: 'set second_factor',
  },
  {
    name: 'session: it does not learn of the second factor',
    file: SESSIONS,
    find: 'token_hash = :tokenHash, second_factor = :secondFactor where',
    replace: 'token_hash = :tokenHash, second_factor = (false and :secondFactor) where',
  },
  {
    name: 'session: signing out ends nothing',
    file: SESSIONS,
    find: 'delete from sessions where token_hash = ?',
    replace: 'delete from sessions where token_hash = ? and false',
  },
  {
    name: 'session: all clients are remembered',
    file: SESSIONS,
    find: 'limit ${CLIENTS_OF_A_USER}',
    replace: 'limit 1000',
  },
  {
    name: 'session: a client is known for every user',
    file: SESSIONS,
    find: 'where u.email = :email and k.client',
    replace: 'where cast(:email as text) is not null and k.client',
  },
  {
    name: 'session: idle ones are kept in the table',
    file: SESSIONS,
    find: '`expires_at <= now() or seen_at <= now() - ${IDLE}`',
    replace: '`expires_at <= now()`',
  },
  {
    name: 'second factor: removing it needs no code',
    file: 'shared/identity/second-factor.ts',
    find: 'await assertCode(trx, deps, user, code);\n    await clearTotp',
    replace: 'await clearTotp',
  },
  {
    name: 'second factor: a confirmed one can be replaced',
    file: 'shared/identity/second-factor.ts',
    find: "if (user.totp_confirmed_at)\n        throw conflict('A second factor is enrolled already",
    replace: "if (false)\n        throw conflict('A second factor is enrolled already",
  },
  {
    name: 'second factor: any password enrols one',
    file: 'shared/identity/second-factor.ts',
    find: 'if (await verifyPassword(password, user?.password_hash ?? null))',
    replace: 'if (user)',
  },
  {
    name: 'sign-in: no password is needed',
    file: 'shared/identity/sign-in.ts',
    find: 'if (!user || !proven)',
    replace: 'if (!user)',
  },
  {
    name: 'sign-in: the one-time code is not asked for',
    file: 'shared/identity/sign-in.ts',
    find: 'if (!user.totp_confirmed_at)',
    replace: 'if (true)',
  },
  {
    name: 'member: the last owner can leave',
    file: 'shared/identity/commands.ts',
    find: "membership?.role !== 'owner' || ",
    replace: 'true || ',
  },
  {
    name: 'caller: a revoked key is good',
    file: 'api/auth/access-store.ts',
    find: 'k.revoked_at is null and (',
    replace: '(',
  },
  {
    name: 'caller: an expired key is good',
    file: 'api/auth/access-store.ts',
    find: 'or k.expires_at > now())',
    replace: 'or true)',
  },
  {
    name: 'caller: the secret of a key is not compared',
    file: AUTHENTICATE,
    find: '!matches(parts.secret, found.key.secret_hash)',
    replace: 'false',
  },
  {
    name: 'caller: failures are not counted',
    file: AUTHENTICATE,
    find: 'await failures.count(ctx);',
    replace: '',
  },
  {
    name: 'caller: a session counts although a wrong key is sent',
    file: AUTHENTICATE,
    find: "header === '' ? await sessionCaller(deps, ctx) : await bearer(deps, ctx, header)",
    replace: '(await bearer(deps, ctx, header)) ?? (await sessionCaller(deps, ctx))',
  },
  {
    name: 'caller: a key acts in every workspace',
    file: AUTHORIZE,
    find: 'caller.workspaceId !== null && caller.workspaceId !== workspaceId',
    replace: 'false',
  },
  {
    name: 'caller: the policy is not asked',
    file: AUTHORIZE,
    find: 'assertPermitted(operation, facts);\n',
    replace: '\n',
  },
  {
    name: 'caller: a workspace cannot require a second factor',
    file: AUTHORIZE,
    find: 'requireMfa && !caller.secondFactor',
    replace: 'false',
  },
  {
    name: 'keys: a revoked key goes on working',
    file: 'api/auth/access-store.ts',
    find: 'k.revoked_at is null and ',
    replace: '',
  },
];

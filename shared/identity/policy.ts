import type { ErrorCode } from '../core/errors.js';

/** What a caller needs for an operation. In a protected environment the role is `protectedRole`, if it is set. */
export interface Policy {
  access: 'read' | 'write';
  role: Role;
  protectedRole?: Role;
  /** Only a browser's session may do it: a stolen key must not be able to give out lasting access. */
  sessionOnly?: true;
}

const READ = { access: 'read', role: 'viewer' } as const satisfies Policy;

/** Developers write; in a protected environment only admins do (specification, Authentication 6). */
const WRITE = { access: 'write', role: 'developer', protectedRole: 'admin' } as const satisfies Policy;

/** Changes what is shown and nothing that runs, so a protected environment needs no higher role. */
const ARRANGE = { access: 'write', role: 'developer' } as const satisfies Policy;
const ADMIN = { access: 'write', role: 'admin' } as const satisfies Policy;
/** Gives access to another person. */
const GRANT = { ...ADMIN, sessionOnly: true } as const satisfies Policy;

/** The policy of every operation of the API. Each route names one. */
export const POLICIES = {
  'catalog.read': READ,
  'workspace.list': READ,
  'workspace.read': READ,
  'workspace.update': ADMIN,
  'project.list': READ,
  'project.read': READ,
  'project.create': WRITE,
  'project.update': WRITE,
  'project.delete': ADMIN,
  'environment.create': WRITE,
  'environment.update': WRITE,
  'environment.delete': WRITE,
  'group.list': READ,
  'group.read': READ,
  'group.create': WRITE,
  'group.update': WRITE,
  'group.delete': WRITE,
  'group.link': WRITE,
  'group.unlink': WRITE,
  'group-variable.list': READ,
  'group-variable.create': WRITE,
  'group-variable.set': WRITE,
  'group-variable.update': WRITE,
  'group-variable.delete': WRITE,
  'canvas.read': READ,
  'canvas.save': ARRANGE,
  'service.list': READ,
  'service.read': READ,
  'service.create': WRITE,
  'service.update': WRITE,
  'service.archive': WRITE,
  'service.restore': WRITE,
  'service.delete': WRITE,
  'service.action': WRITE,
  'deployment.list': READ,
  'deployment.read': READ,
  'deployment.list-workspace': READ,
  'deployment.read-snapshot': READ,
  'deployment.create': WRITE,
  'deployment.cancel': WRITE,
  'deployment.rollback': WRITE,
  'run.list': READ,
  'run.read': READ,
  'run.create': WRITE,
  'run.cancel': WRITE,
  'deploy-key.read': READ,
  'deploy-key.forget-host': ADMIN,
  'webhook.list': READ,
  'webhook.create': ADMIN,
  'webhook.delete': ADMIN,
  'hook.list': READ,
  'hook.read': READ,
  'hook.create': WRITE,
  'hook.delete': WRITE,
  'backup.list': READ,
  'backup.read': READ,
  'backup.create': WRITE,
  'backup.delete': WRITE,
  'backup.restore': WRITE,
  // It changes nothing, but makes a worker read a repository.
  'detection.create': ARRANGE,
  'operation.list': READ,
  'operation.read': READ,
  'variable.list': READ,
  'variable.create': WRITE,
  'variable.set': WRITE,
  'variable.update': WRITE,
  'variable.delete': WRITE,
  'log.read': READ,
  'preview.list': READ,
  'preview.read': READ,
  'preview.create': WRITE,
  'preview.delete': WRITE,
  'pull-request.list': READ,
  'pull-request.approve': WRITE,
  'pull-request.decline': WRITE,
  'domain.list': READ,
  'domain.create': WRITE,
  'domain.verify': WRITE,
  'domain.delete': WRITE,
  'metrics.read': READ,
  'member.list': READ,
  'member.create': GRANT,
  'member.update': GRANT,
  'member.delete': ADMIN,
  'invitation.list': { access: 'read', role: 'admin' },
  'invitation.create': GRANT,
  'invitation.delete': ADMIN,
  // A key has at most the rights of the member who makes it.
  'key.list': READ,
  'key.create': { access: 'write', role: 'viewer', sessionOnly: true },
  'key.delete': { access: 'write', role: 'viewer' },
  'audit.list': { access: 'read', role: 'admin' },
} as const satisfies Record<string, Policy>;

export type OperationName = keyof typeof POLICIES;

export interface AccessFacts {
  /** The caller's role in the workspace; null if the caller is not a member, or is one no longer. */
  role: Role | null;
  scope: KeyScope;
  /** The caller sent a key; otherwise it is a browser's session. */
  withKey?: boolean;
  emailVerified: boolean;
  /** The workspace demands a second factor, and the caller has none. */
  mfaMissing: boolean;
  /** The operation changes something in a protected environment. */
  protectedEnvironment?: boolean;
}

/** Returns why the operation is refused, or null (specification, Authentication 2, 5 and 6). */
export function refusal(operation: OperationName, facts: AccessFacts): ErrorCode | null {
  const policy: Policy = POLICIES[operation];
  if (policy.access === 'write') {
    if (facts.scope !== 'write' || facts.role === null) return 'forbidden';
    if (policy.sessionOnly && facts.withKey) return 'forbidden';
    if (!facts.emailVerified) return 'email_unverified';
    if (facts.mfaMissing) return 'mfa_required';
  }
  if (facts.role === null) return 'not_found';
  const needed = facts.protectedEnvironment ? (policy.protectedRole ?? policy.role) : policy.role;
  return hasRole(facts.role, needed) ? null : 'forbidden';
}

export const ROLES = ['viewer', 'developer', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

export const KEY_SCOPES = ['read', 'write'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Returns true if the role has at least the rights of `needed`. */
export function hasRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

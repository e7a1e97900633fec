import type { ErrorCode } from '../core/error-registry.js';

/** What a caller needs for an operation. In a protected environment the role is `protectedRole`, if it is set. */
export interface Policy {
  access: 'read' | 'write';
  role: Role;
  protectedRole?: Role;
  /** Only a browser's session may do this: a stolen key must not be able to give lasting access. */
  sessionOnly?: true;
}

const READ = { access: 'read', role: 'viewer' } as const satisfies Policy;

/** Developers write; in a protected environment only admins do (specification, Authentication 6). */
const WRITE = { access: 'write', role: 'developer', protectedRole: 'admin' } as const satisfies Policy;

/** Changes only what is displayed, so a protected environment needs no higher role. */
const ARRANGE = { access: 'write', role: 'developer' } as const satisfies Policy;
const ADMIN = { access: 'write', role: 'admin' } as const satisfies Policy;
/** Gives access to another person. */
const GRANT = { ...ADMIN, sessionOnly: true } as const satisfies Policy;

function each<const Shared extends Policy, const Name extends string>(policy: Shared, ...names: Name[]) {
  return Object.fromEntries(names.map((name) => [name, policy])) as Record<Name, Shared>;
}

/** The policy of every operation of the API. Each route names one. */
export const POLICIES = {
  ...each(READ, 'catalog.read', 'workspace.list', 'workspace.read', 'project.list', 'project.read'),
  ...each(ADMIN, 'workspace.update', 'project.delete'),
  ...each(WRITE, 'project.create', 'project.update'),
  ...each(WRITE, 'environment.create', 'environment.update', 'environment.delete'),
  ...each(READ, 'group.list', 'group.read', 'group-variable.list'),
  ...each(WRITE, 'group.create', 'group.update', 'group.delete', 'group.link', 'group.unlink'),
  ...each(WRITE, 'group-variable.create', 'group-variable.set', 'group-variable.update', 'group-variable.delete'),
  ...each(READ, 'canvas.read'),
  ...each(ARRANGE, 'canvas.save'),
  ...each(READ, 'service.list', 'service.read', 'operation.list', 'operation.read'),
  ...each(WRITE, 'service.create', 'service.update', 'service.archive', 'service.restore', 'service.delete'),
  ...each(WRITE, 'service.action'),
  ...each(READ, 'deployment.list', 'deployment.read', 'deployment.list-workspace', 'deployment.read-snapshot'),
  ...each(WRITE, 'deployment.create', 'deployment.cancel', 'deployment.rollback'),
  ...each(READ, 'run.list', 'run.read'),
  ...each(WRITE, 'run.create', 'run.cancel'),
  ...each(WRITE, 'shell.open', 'tunnel.open', 'credentials.reveal'),
  ...each(READ, 'deploy-key.read'),
  ...each(ADMIN, 'deploy-key.forget-host'),
  ...each(READ, 'webhook.list'),
  ...each(ADMIN, 'webhook.create', 'webhook.delete'),
  ...each(READ, 'hook.list', 'hook.read'),
  ...each(WRITE, 'hook.create', 'hook.delete'),
  ...each(READ, 'backup.list', 'backup.read'),
  ...each(WRITE, 'backup.create', 'backup.delete', 'backup.restore'),
  ...each(READ, 'stack.pull', 'stack.list', 'stack.read', 'stack.list-applies', 'stack.read-apply'),
  ...each(READ, 'template.list', 'template.read'),
  ...each(ARRANGE, 'stack.import', 'template.fill'),
  ...each(WRITE, 'stack.plan', 'stack.apply', 'stack.rollback', 'stack.cancel-apply', 'stack.delete'),
  ...each(READ, 'volume.list'),
  ...each(WRITE, 'volume.create', 'volume.update', 'volume.delete'),
  // Changes nothing, but makes a worker read a repository, so the right to read does not suffice.
  ...each(ARRANGE, 'detection.create'),
  ...each(READ, 'variable.list', 'log.read', 'metrics.read'),
  ...each(WRITE, 'variable.create', 'variable.set', 'variable.update', 'variable.delete'),
  ...each(READ, 'preview.list', 'preview.read', 'pull-request.list'),
  ...each(WRITE, 'preview.create', 'preview.delete', 'pull-request.approve', 'pull-request.decline'),
  ...each(READ, 'domain.list'),
  ...each(WRITE, 'domain.create', 'domain.verify', 'domain.delete'),
  ...each(READ, 'member.list'),
  ...each(GRANT, 'member.create', 'member.update', 'invitation.create'),
  ...each(ADMIN, 'member.delete', 'invitation.delete'),
  ...each({ access: 'read', role: 'admin' }, 'invitation.list', 'audit.list', 'recording.list', 'recording.read'),
  ...each(READ, 'key.list'),
  // A key has at most the rights of the member who makes it.
  'key.create': { access: 'write', role: 'viewer', sessionOnly: true },
  'key.delete': { access: 'write', role: 'viewer' },
} as const satisfies Record<string, Policy>;

export type OperationName = keyof typeof POLICIES;

export interface AccessFacts {
  /** The caller's role in the workspace; null if the caller is not, or no longer, a member. */
  role: Role | null;
  scope: KeyScope;
  /** True if the caller sent a key; otherwise the caller has a browser's session. */
  withKey?: boolean;
  emailVerified: boolean;
  /** True if the workspace requires a second factor and the caller has none. */
  mfaMissing: boolean;
  /** True if the operation changes something in a protected environment. */
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

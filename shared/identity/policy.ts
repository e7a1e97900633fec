import type { ErrorCode } from '../core/error-registry.js';

/** The access and the role that an operation needs. In a protected environment, `protectedRole` replaces `role`. */
export interface Policy {
  access: 'read' | 'write';
  role: Role;
  protectedRole?: Role;
  /** Requires a browser session, so that a stolen key cannot be used to grant lasting access. */
  sessionOnly?: true;
}

const READ = { access: 'read', role: 'viewer' } as const satisfies Policy;

const WRITE = { access: 'write', role: 'developer', protectedRole: 'admin' } as const satisfies Policy;

/** For operations that change nothing in any environment, so a protected environment does not raise the role. */
const ARRANGE = { access: 'write', role: 'developer' } as const satisfies Policy;
const ADMIN = { access: 'write', role: 'admin' } as const satisfies Policy;
const GRANT = { ...ADMIN, sessionOnly: true } as const satisfies Policy;

function each<const Shared extends Policy, const Name extends string>(policy: Shared, ...names: Name[]) {
  return Object.fromEntries(names.map((name) => [name, policy])) as Record<Name, Shared>;
}

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
  ...each(READ, 'deployment.read-canary'),
  ...each(WRITE, 'deployment.create', 'deployment.cancel', 'deployment.rollback', 'deployment.promote'),
  ...each(READ, 'run.list', 'run.read'),
  ...each(WRITE, 'run.create', 'run.cancel'),
  ...each(WRITE, 'shell.open', 'tunnel.open', 'credentials.reveal'),
  ...each(READ, 'deploy-key.read'),
  ...each(ADMIN, 'deploy-key.forget-host'),
  ...each(READ, 'webhook.list'),
  ...each(ADMIN, 'webhook.create', 'webhook.delete'),
  ...each(READ, 'alert.list', 'alert.read'),
  ...each(ARRANGE, 'alert.create', 'alert.update', 'alert.delete'),
  ...each(READ, 'drain.list', 'drain.read'),
  ...each(ADMIN, 'drain.create', 'drain.delete'),
  ...each(READ, 'hook.list', 'hook.read'),
  ...each(WRITE, 'hook.create', 'hook.update', 'hook.delete'),
  ...each(READ, 'backup.list', 'backup.read'),
  ...each(WRITE, 'backup.create', 'backup.delete', 'backup.restore'),
  ...each(READ, 'stack.pull', 'stack.list', 'stack.read', 'stack.list-applies', 'stack.read-apply'),
  ...each(READ, 'template.list', 'template.read'),
  ...each(READ, 'template.list-own', 'template.read-own', 'template-source.list'),
  ...each(ARRANGE, 'stack.import', 'template.fill'),
  ...each(ARRANGE, 'template-source.create', 'template-source.refresh', 'template-source.delete'),
  ...each(WRITE, 'stack.plan', 'stack.apply', 'stack.rollback', 'stack.cancel-apply', 'stack.delete'),
  ...each(READ, 'volume.list'),
  ...each(WRITE, 'volume.create', 'volume.update', 'volume.delete'),
  // Changes nothing, but makes a worker read a repository, so read access does not suffice.
  ...each(ARRANGE, 'detection.create'),
  ...each(READ, 'variable.list', 'log.read', 'metrics.read'),
  ...each(WRITE, 'variable.create', 'variable.set', 'variable.update', 'variable.delete'),
  ...each(READ, 'preview.list', 'preview.read', 'pull-request.list'),
  ...each(WRITE, 'preview.create', 'preview.delete', 'pull-request.approve', 'pull-request.decline'),
  ...each(READ, 'domain.list'),
  ...each(WRITE, 'domain.create', 'domain.update', 'domain.verify', 'domain.delete'),
  ...each(READ, 'rule.list'),
  ...each(WRITE, 'rule.set'),
  ...each(READ, 'member.list'),
  ...each(GRANT, 'member.create', 'member.update', 'invitation.create', 'sign-in.update'),
  ...each(ADMIN, 'member.delete', 'invitation.delete'),
  ...each(
    { access: 'read', role: 'admin' },
    'invitation.list',
    'sign-in.read',
    'audit.list',
    'recording.list',
    'recording.read',
  ),
  ...each(READ, 'key.list'),
  // A viewer may create a key, because a key has at most the rights of the member who creates it.
  'key.create': { access: 'write', role: 'viewer', sessionOnly: true },
  'key.delete': { access: 'write', role: 'viewer' },
} as const satisfies Record<string, Policy>;

export type OperationName = keyof typeof POLICIES;

export interface AccessFacts {
  role: Role | null;
  scope: KeyScope;
  withKey?: boolean;
  emailVerified: boolean;
  /** True if the workspace requires a second factor and the caller has not enrolled one. */
  mfaMissing: boolean;
  protectedEnvironment?: boolean;
}

/** Returns why an operation is refused; null if it is allowed (specification, Authentication 2, 5, 6). */
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

import type { Config } from '../core/config.js';
import { lockUntilCommit, type Transaction } from '../core/database/database-client.js';
import { AppError, type ErrorDetail } from '../core/error-registry.js';
import type { Keyring } from '../secrets/keyring.js';
import { SEALED, sealIn } from '../secrets/sealed-columns.js';
import { arrangeFills, type Fill } from './arrange-fills.js';
import { readEnvironmentState } from './environment-store.js';
import type { Matches } from './match-resources.js';
import type { StackRow, Step } from './model.js';
import { planStack } from './plan.js';
import { type PlanRequest, planDocument } from './plan-document.js';
import type { Plan } from './plan-model.js';
import { type PushedCommit, withCommit } from './pushed-commit.js';
import { type Asked, assertIdle, recordApply } from './record-apply.js';
import { claimResource, insertStack, releaseAbsent, writeDocument } from './store.js';
import type { StackWish } from './wish.js';

interface Deps {
  keyring: Keyring;
  config: Config;
}

export interface ApplyRequest extends PlanRequest, Asked {
  /** The hash of the plan that the user approved; null if no user saw the plan. */
  planHash: string | null;
  confirmDestructive: string | undefined;
  /** If false, no service is deployed except the databases of `fills`: a restore needs a running database. */
  deploy?: boolean;
  /** The pushed commit that contains the document. Services of the same repository are deployed from this commit. */
  pushed?: PushedCommit;
  /** Backups to restore into new services. Requires that all resources of the document are new. */
  fills?: readonly Fill[];
}

/**
 * Stores the steps of an apply, which a worker performs. Returns the id of the apply. Plans the document again, because
 * the environment may have changed since the user approved the plan. Throws plan_changed if the plan differs from the
 * approved one, apply_running if another apply is unfinished, invalid_confirmation if a destructive plan is not
 * confirmed, invalid_request if `values` lacks a secret or names an unknown one, and errors of `planDocument`.
 */
export async function acceptApply(trx: Transaction, deps: Deps, request: ApplyRequest): Promise<string> {
  const { workspaceId, name, planHash, values, deploy = true, pushed, fills = [] } = request;
  await lockStack(trx, workspaceId, name);
  const { plan, matches, wish, stack: known, environmentId } = await planDocument(trx, deps, request);
  await assertIdle(trx, known);
  if (planHash !== null && plan.hash !== planHash) throw new AppError('plan_changed');
  assertDestructive(plan, request);
  assertSecrets(plan, wish, values);
  const stack = known ?? (await insertStack(trx, { workspaceId, environmentId, name }));
  const deployed = pushed === undefined ? plan : withCommit(plan, matches, pushed);
  const arranged = deploy && fills.length === 0 ? deployed : arrangeFills(plan, fills, deploy);
  return store(trx, deps, { stack, plan: arranged, matches, wish, asked: request });
}

/** Accepts the deletion of everything a stack owns, and then of the stack. Returns the id of the apply. */
export async function acceptDeletion(
  trx: Transaction,
  deps: Deps,
  { stack, ...asked }: Asked & { stack: StackRow },
): Promise<string> {
  await lockStack(trx, stack.workspace_id, stack.name);
  await assertIdle(trx, stack);
  const place = { workspaceId: stack.workspace_id, environmentId: stack.environment_id };
  const wish: StackWish = { together: false, services: [], groups: [] };
  const state = await readEnvironmentState(trx, deps.keyring, place);
  const { plan, matches } = planStack({ stackId: stack.id, wish, state, values: {} });
  const steps: Step[] = [...plan.steps, { op: 'stack.delete' }];
  return store(trx, deps, { stack, plan: { ...plan, steps }, matches, wish, asked });
}

/** Locks a stack's name until the commit, so that its applies are accepted one at a time. */
export async function lockStack(trx: Transaction, workspaceId: string, name: string): Promise<void> {
  await lockUntilCommit(trx, `ranvier.stack:${workspaceId}:${name}`);
}

function assertDestructive({ destructive }: Plan, { name, confirmDestructive }: ApplyRequest): void {
  if (!destructive || confirmDestructive === name) return;
  throw new AppError(
    'invalid_confirmation',
    'The plan deletes or replaces something: confirmDestructive must be the name of the stack',
    [{ path: '/confirmDestructive', message: 'must be the name of the stack' }],
  );
}

function assertSecrets({ secrets }: Plan, wish: StackWish, values: Readonly<Record<string, string>>): void {
  const known = new Set(
    [...wish.services, ...wish.groups].flatMap(({ name, variables }) =>
      variables.filter(({ content }) => 'secret' in content).map(({ key }) => `${name}.${key}`),
    ),
  );
  const problems: ErrorDetail[] = [
    ...secrets.map((secret) => ({ path: `/values/${secret}`, message: 'is needed: the secret has no value yet' })),
    ...Object.keys(values).flatMap((given) =>
      known.has(given) ? [] : [{ path: `/values/${given}`, message: 'is no secret of the document' }],
    ),
  ];
  if (problems.length > 0) throw new AppError('invalid_request', undefined, problems);
}

interface Accepted {
  stack: StackRow;
  plan: Plan;
  matches: Matches;
  wish: StackWish;
  asked: Asked;
}

async function store(
  trx: Transaction,
  { keyring }: Deps,
  { stack, plan, matches, wish, asked }: Accepted,
): Promise<string> {
  const { steps, changes, deploys, warnings } = plan;
  await releaseAbsent(trx, stack);
  await claimAll(trx, stack.id, matches);
  await writeDocument(trx, stack.id, sealIn(keyring, SEALED.stackDocument, stack.id, JSON.stringify(wish)));
  return recordApply(trx, keyring, {
    ...{ stack, asked, steps, together: wish.together },
    plan: { changes, deploys, warnings },
  });
}

async function claimAll(trx: Transaction, stackId: string, matches: Matches): Promise<void> {
  const { services, groups, goneServices, goneGroups } = matches;
  const claims = [
    ...services.map(({ state, wish: { name } }) => ({ state, resource: state && { serviceId: state.id }, name })),
    ...groups.map(({ state, wish: { name } }) => ({ state, resource: state && { groupId: state.id }, name })),
    ...goneServices.map((state) => ({ state, resource: { serviceId: state.id }, name: null })),
    ...goneGroups.map((state) => ({ state, resource: { groupId: state.id }, name: null })),
  ];
  for (const { state, resource, name } of claims) {
    if (state === null || resource === null) continue;
    if (state.owner?.stackId === stackId && state.owner.as === name) continue;
    await claimResource(trx, stackId, resource, name);
  }
}

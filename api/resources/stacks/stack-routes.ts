import { AppError } from '../../../shared/core/error-registry.js';
import { findEnvironment } from '../../../shared/environments/store.js';
import { acceptApply, acceptDeletion, lockStack } from '../../../shared/stacks/accept-apply.js';
import type { StackRow } from '../../../shared/stacks/model.js';
import { cancelApply, findStack, forgetStack, hasOpenApply, listSteps } from '../../../shared/stacks/store.js';
import { assertConfirmed, found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute, type ReadRequest, type WriteRequest } from '../../http/route.js';
import { PageQuery } from '../../http/schema.js';
import { nativeDocument } from './import/import-file.js';
import { presentApply, presentApplyDetail, presentStack } from './present.js';
import { readDrift } from './read-drift.js';
import {
  ApplyBody,
  ApplyDetailResponse,
  ApplyListResponse,
  ApplyResponse,
  DeleteStackBody,
  DeleteStackResponse,
  STACK_BODY_LIMIT,
  StackListResponse,
  StackResponse,
} from './schema.js';
import { findApply, latestApplies, listApplies, listOwned, listStacks } from './store.js';

const COLLECTION = '/workspaces/:workspaceId/stacks';
const ONE = '/workspaces/:workspaceId/stacks/:stackName';
const APPLY = '/workspaces/:workspaceId/stacks/:stackName/applies/:applyId';

export const stackRecordRoutes = [
  defineRoute('GET', COLLECTION, 'stack.list', {
    summary: 'List stacks',
    description: 'Newest first, each with its last apply.',
    query: PageQuery,
    response: StackListResponse,
    handler: async (request) => {
      const page = await listStacks(request.db, request.params.workspaceId, pageRequest(request));
      const ids = page.items.map(({ id }) => id);
      const applies = new Map((await latestApplies(request.db, ids)).map((apply) => [apply.stack_id, apply]));
      return {
        stacks: page.items.map((stack) => presentStack(stack, applies.get(stack.id))),
        page: presentPage(request, page),
      };
    },
  }),
  defineRoute('GET', ONE, 'stack.read', {
    summary: 'Read a stack',
    description: 'What it owns, its last apply, and in what the environment differs from its document.',
    response: StackResponse,
    handler: async (request) => {
      const { db, deps } = request;
      const stack = await readStack(request);
      const [lastApply] = await latestApplies(db, [stack.id]);
      const resources = await listOwned(db, stack.id);
      return {
        stack: { ...presentStack(stack, lastApply), resources, ...(await readDrift(db, deps.keyring, stack)) },
      };
    },
  }),
  defineRoute('POST', `${ONE}/apply`, 'stack.apply', {
    summary: 'Apply a document',
    description:
      'Changes the environment to what the document says, if the plan is still the one with planHash. Read the apply until it has ended: it waits for its deployments.',
    errors: ['plan_changed', 'apply_running', 'owned_elsewhere', 'conflict', 'invalid_confirmation'],
    body: ApplyBody,
    bodyLimit: STACK_BODY_LIMIT,
    example: {
      document: 'services:\n  web:\n    kind: web\n    repository: https://git.example.com/shop.git\n',
      planHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      environmentId: '0198c0de-0000-7000-8000-000000000003',
    },
    response: ApplyResponse,
    engine: true,
    handler: async ({ trx, deps, params, caller, body, authorize, needEngine }) => {
      const { workspaceId, stackName: name } = params;
      const { document, format, environmentId, values = {}, planHash, confirmDestructive } = body;
      const id = await acceptApply(trx, deps, {
        ...{
          workspaceId,
          name,
          ...nativeDocument(document, format),
          environmentId,
          values,
          planHash,
          confirmDestructive,
        },
        ...{ actor: caller.email, authorize, needEngine },
      });
      const stack = found(await findStack(trx, workspaceId, name));
      return { apply: presentApply(found(await findApply(trx, stack.id, id))) };
    },
  }),
  defineRoute('GET', `${ONE}/applies`, 'stack.list-applies', {
    summary: 'List the applies of a stack',
    description: 'Newest first.',
    query: PageQuery,
    response: ApplyListResponse,
    handler: async (request) => {
      const page = await listApplies(request.db, (await readStack(request)).id, pageRequest(request));
      return { applies: page.items.map(presentApply), page: presentPage(request, page) };
    },
  }),
  defineRoute('GET', APPLY, 'stack.read-apply', {
    summary: 'Read an apply',
    description: 'What it changes, and its steps in their order.',
    response: ApplyDetailResponse,
    handler: async (request) => {
      const { db, params } = request;
      const apply = found(await findApply(db, (await readStack(request)).id, params.applyId));
      return { apply: presentApplyDetail(apply, await listSteps(db, apply.id)) };
    },
  }),
  defineRoute('POST', `${APPLY}/cancel`, 'stack.cancel-apply', {
    summary: 'Cancel an apply',
    description: 'It ends after the step that runs, and its deployments are cancelled. What is done stays.',
    errors: ['conflict'],
    response: ApplyResponse,
    handler: async (request) => {
      const { trx, params } = request;
      const stack = await lockedStack(request);
      const apply = found(await findApply(trx, stack.id, params.applyId));
      if (!(await cancelApply(trx, apply))) throw new AppError('conflict', `The apply has ended: it ${apply.status}`);
      return { apply: presentApply(found(await findApply(trx, stack.id, apply.id))) };
    },
  }),
  defineRoute('DELETE', ONE, 'stack.delete', {
    summary: 'Delete a stack',
    description:
      'Deletes what the stack owns by an apply, and then the stack. With keep, only the stack is forgotten. confirm is its name.',
    errors: ['apply_running'],
    body: DeleteStackBody,
    response: DeleteStackResponse,
    engine: true,
    handler: async (request) => {
      const { trx, deps, caller, body, authorize, needEngine } = request;
      const stack = await lockedStack(request);
      assertConfirmed(body.confirm, stack);
      if (body.keep === true) {
        if (await hasOpenApply(trx, stack.id)) throw new AppError('apply_running');
        await forgetStack(trx, stack.id);
        return { deleted: true, apply: null };
      }
      const id = await acceptDeletion(trx, deps, { stack, actor: caller.email, authorize, needEngine });
      return { deleted: false, apply: presentApply(found(await findApply(trx, stack.id, id))) };
    },
  }),
];

type StackPath = typeof ONE;

async function readStack({ db, params }: Pick<ReadRequest<StackPath>, 'db' | 'params'>): Promise<StackRow> {
  return found(await findStack(db, params.workspaceId, params.stackName));
}

/** Returns the stack in the path, and locks its name. Throws not_found, and what `authorize` throws. */
export async function lockedStack({
  trx,
  params,
  authorize,
}: Pick<WriteRequest<StackPath>, 'trx' | 'params' | 'authorize'>): Promise<StackRow> {
  await lockStack(trx, params.workspaceId, params.stackName);
  const stack = await readStack({ db: trx, params });
  const environment = found(await findEnvironment(trx, params.workspaceId, stack.environment_id));
  authorize({ protectedEnvironment: environment.protected });
  return stack;
}

import { pullStatus } from '../../../shared/previews/pull-model.js';
import { findPull, listPulls, type PullView, pullFacts } from '../../../shared/previews/pull-store.js';
import { findPreview } from '../../../shared/previews/store.js';
import { approvePull, declinePull } from '../../../shared/pulls/commands.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { PageQuery } from '../../http/schema.js';
import { QUEUE_ERRORS } from '../deployments/queue-errors.js';
import { lockService, readService } from '../services/find-service.js';
import {
  ApprovedPullRequestResponse,
  ApprovePullRequestBody,
  PullRequestListResponse,
  PullRequestResponse,
  PullRequestSchema,
} from './pull-schema.js';
import { presentPreview } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/pull-requests';
const ONE = `${COLLECTION}/:pullRequestId` as const;

/** Pull requests from git hosts. A commit of a fork is deployed only after a member approved it. */
export const pullRoutes = [
  defineRoute('GET', COLLECTION, 'pull-request.list', {
    summary: 'List pull requests',
    description: "The pull requests of the service's repository that the git host has reported, newest first.",
    query: PageQuery,
    response: PullRequestListResponse,
    handler: async (request) => {
      const base = await readService(request);
      const page = await listPulls(request.db, base.id, pageRequest(request));
      return { pullRequests: page.items.map(presentPull), page: presentPage(request, page) };
    },
  }),
  defineRoute('POST', `${ONE}/approve`, 'pull-request.approve', {
    summary: 'Approve a pull request',
    description: 'Approves one commit of a fork and queues its deployment to a preview without variables.',
    errors: QUEUE_ERRORS,
    body: ApprovePullRequestBody,
    response: ApprovedPullRequestResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, params, receiptKey, authorize, needEngine } = request;
      const base = await lockService(request);
      needEngine();
      const { service_id } = await approvePull(trx, deps, {
        base,
        pullId: params.pullRequestId,
        commitSha: body.commitSha,
        actor: caller.email,
        idempotency: receiptKey,
        authorize,
      });
      const pull = found(await findPull(trx, base.id, params.pullRequestId));
      const preview = found(await findPreview(trx, base.id, service_id));
      return { pullRequest: presentPull(pull), preview: presentPreview(preview, base, deps.config) };
    },
  }),
  defineRoute('POST', `${ONE}/decline`, 'pull-request.decline', {
    summary: 'Decline a pull request',
    description: 'Declines the newest commit of a fork, and ends the preview of an earlier one.',
    errors: ['conflict'],
    response: PullRequestResponse,
    handler: async (request) => {
      const { trx, caller, params } = request;
      const base = await lockService(request);
      await declinePull(trx, { base, pullId: params.pullRequestId, actor: caller.email });
      return { pullRequest: presentPull(found(await findPull(trx, base.id, params.pullRequestId))) };
    },
  }),
];

function presentPull(row: PullView) {
  return present(PullRequestSchema, row, {
    targetBranch: row.target,
    commitSha: row.head_sha,
    status: pullStatus(pullFacts(row)),
  });
}

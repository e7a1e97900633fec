import { Type } from 'typebox';
import { PULL_STATUSES } from '../../../shared/previews/pull-model.js';
import { CommitSha } from '../../../shared/services/service-source.js';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { PreviewSchema } from './schema.js';

export const PullRequestSchema = Strict(
  {
    id: Uuid,
    number: Type.Integer(),
    title: Type.String(),
    author: Type.String(),
    branch: Type.String(),
    targetBranch: Type.String(),
    /** True if the branch is in another repository, so that its commits require approval. */
    fork: Type.Boolean(),
    commitSha: Type.String(),
    status: oneOf('PullRequestStatus', PULL_STATUSES),
    /** E-mail address of the member who last approved or declined a commit; '' if there was no decision. */
    decidedBy: Type.String(),
    previewId: Nullable(Uuid),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'PullRequest',
);

export const PullRequestResponse = Strict({ pullRequest: PullRequestSchema });
export const PullRequestListResponse = Strict({ pullRequests: Type.Array(PullRequestSchema), page: PageSchema });
export const ApprovePullRequestBody = Strict({ commitSha: CommitSha });
export const ApprovedPullRequestResponse = Strict({ pullRequest: PullRequestSchema, preview: PreviewSchema });

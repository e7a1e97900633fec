import { Link } from '@tanstack/react-router';
import { post } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Items } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { HistoryRow } from '../../ui/history.js';
import { ErrorNotice } from '../../ui/states.js';
import type { Tone } from '../../ui/tone.js';
import { shortSha } from '../deployments/deployment-text.js';
import { useServicePath } from '../services/service-shell.js';

type PullRequest = Schemas['PullRequest'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/pull-requests';

const STATUS: Readonly<Record<PullRequest['status'], { tone: Tone; text: string }>> = {
  open: { tone: 'good', text: 'Open' },
  waiting: { tone: 'warn', text: 'Needs approval' },
  approved: { tone: 'good', text: 'Approved' },
  declined: { tone: 'plain', text: 'Declined' },
  closed: { tone: 'plain', text: 'Closed' },
};

/** Pull requests of forks are built only after a member approves the commit. */
export function PullRequests({ refusal }: { refusal: string | null }) {
  const path = useServicePath();
  const { data } = useGet(PATH, { path, query: { limit: 50 } });
  const { ask, target, dialog } = useConfirmation(({ id, commitSha }: PullRequest) =>
    post(`${PATH}/{pullRequestId}/approve`, { path: { ...path, pullRequestId: id }, body: { commitSha } }),
  );
  const decline = useWrite(({ id }: PullRequest) =>
    post(`${PATH}/{pullRequestId}/decline`, { path: { ...path, pullRequestId: id } }),
  );
  const pulls = data?.pullRequests ?? [];
  if (pulls.length === 0) return null;
  return (
    <Card title="Pull requests">
      <Items items={pulls}>
        {(pull) => (
          <HistoryRow
            status={STATUS[pull.status]}
            title={<Title pull={pull} workspaceId={path.workspaceId} />}
            detail={
              <>
                {pull.author}
                {pull.fork ? ', from a fork' : ''}, {pull.branch} into {pull.targetBranch}{' '}
                <code>{shortSha(pull.commitSha)}</code>
                {pull.decidedBy === '' ? '' : `, decided by ${pull.decidedBy}`}
              </>
            }
            at={pull.updatedAt}
          >
            {pull.status === 'waiting' ? (
              <>
                <Button
                  small
                  refusal={refusal}
                  aria-label={`Approve pull request ${pull.number}`}
                  onClick={() => ask(pull)}
                >
                  Approve
                </Button>
                <Button
                  small
                  look="quiet"
                  refusal={refusal}
                  pending={decline.isPending && decline.variables.id === pull.id}
                  aria-label={`Decline pull request ${pull.number}`}
                  onClick={() => decline.mutate(pull)}
                >
                  Decline
                </Button>
              </>
            ) : null}
          </HistoryRow>
        )}
      </Items>
      {decline.error ? <ErrorNotice title="The pull request was not declined" error={decline.error} /> : null}
      <ConfirmDialog
        {...dialog}
        title={`Run commit ${shortSha(target?.commitSha ?? '')} of ${target?.author}?`}
        action="Approve this commit"
      >
        Read the commit first: it is code from a fork, which this platform then builds and runs. It gets none of your
        variables. Later commits need approval again.
      </ConfirmDialog>
    </Card>
  );
}

function Title({ pull, workspaceId }: { pull: PullRequest; workspaceId: string }) {
  const text = `#${pull.number} ${pull.title}`;
  if (pull.previewId === null) return text;
  return (
    <Link to="/w/$workspaceId/s/$serviceId" params={{ workspaceId, serviceId: pull.previewId }}>
      {text}
    </Link>
  );
}

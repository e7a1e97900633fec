import { field, text } from '../core/json-fields.js';
import { isBranchName } from '../core/string-formats.js';
import { MAX_TEXT_LENGTH, type PullReport } from '../previews/pull-model.js';

export const SHA = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const MAX_NUMBER = 2_000_000_000;

/** Actions that may deploy or delete a preview. Labels, reviews and assignments do neither. */
const CHANGES = [
  ...['opened', 'synchronize', 'synchronized', 'edited', 'ready_for_review', 'closed'],
  ...['open', 'update', 'merge', 'close'],
];
const REOPENS = ['reopened', 'reopen'];

function kindOf(action: string): Found['kind'] {
  if (REOPENS.includes(action)) return 'reopen';
  return CHANGES.includes(action) ? 'change' : undefined;
}

/**
 * Parses a report about a pull request or (GitLab) merge request. Returns the reason as a text if there is nothing to
 * do. A branch is a fork's unless the report proves that it is in the repository itself.
 */
export function readPull(provider: 'github' | 'gitlab' | 'gitea', payload: unknown): PullReport | string {
  const report = provider === 'gitlab' ? ofGitlab(payload) : ofGithub(payload);
  if (report.kind === undefined) return `the action ${report.action.slice(0, 50) || '(none)'} deploys nothing`;
  const { action: _, kind, ...facts } = report;
  if (!(Number.isSafeInteger(facts.number) && facts.number > 0 && facts.number < MAX_NUMBER))
    return 'the report has no number';
  if (!SHA.test(facts.headSha)) return 'the report names no commit';
  if (!isBranchName(facts.branch)) return 'the name of the branch has characters that are not accepted';
  const short = (line: string) => line.replace(/\p{Cc}/gu, ' ').slice(0, MAX_TEXT_LENGTH);
  return {
    ...facts,
    title: short(facts.title),
    author: short(facts.author),
    target: short(facts.target),
    reopened: kind === 'reopen',
  };
}

type Found = Omit<PullReport, 'reopened'> & { action: string; kind: 'change' | 'reopen' | undefined };

function ofGithub(payload: unknown): Found {
  const pull = field(payload, 'pull_request');
  const [head, base] = [field(pull, 'head'), field(pull, 'base')];
  const action = text(payload, 'action');
  const number = Number(field(pull, 'number') ?? field(payload, 'number'));
  return {
    action,
    kind: kindOf(action),
    number,
    title: text(pull, 'title'),
    author: text(field(pull, 'user'), 'login'),
    branch: text(head, 'ref'),
    target: text(base, 'ref'),
    headSha: text(head, 'sha'),
    // Also true if the fork was deleted, because `head.repo` is null then.
    fork: !sameNumber(field(field(head, 'repo'), 'id'), field(field(base, 'repo'), 'id')),
    open: text(pull, 'state') === 'open',
    at: timeOf(text(pull, 'updated_at')),
    ref: `refs/pull/${number}/head`,
  };
}

function ofGitlab(payload: unknown): Found {
  const attributes = field(payload, 'object_attributes');
  const action = text(attributes, 'action');
  const number = Number(field(attributes, 'iid'));
  return {
    action,
    kind: kindOf(action),
    number,
    title: text(attributes, 'title'),
    author: text(field(payload, 'user'), 'username'),
    branch: text(attributes, 'source_branch'),
    target: text(attributes, 'target_branch'),
    headSha: text(field(attributes, 'last_commit'), 'id'),
    fork: !sameNumber(field(attributes, 'source_project_id'), field(attributes, 'target_project_id')),
    open: text(attributes, 'state') === 'opened',
    at: timeOf(text(attributes, 'updated_at')),
    ref: `refs/merge-requests/${number}/head`,
  };
}

function sameNumber(one: unknown, other: unknown): boolean {
  return typeof one === 'number' && one === other;
}

/** Parses a time: "2013-12-03T17:23:34Z" or, from older versions of GitLab, "2013-12-03 17:23:34 UTC". */
function timeOf(given: string): Date | null {
  const at = new Date(given.replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/, '$1T$2Z'));
  return Number.isNaN(at.getTime()) ? null : at;
}

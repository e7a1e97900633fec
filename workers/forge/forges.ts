import { field, text } from '../../shared/core/json-fields.js';
import { type EnvironmentReport, markerOf, type ReportState, type StatusReport } from './model.js';

/** A request to a git host's API. `path` is relative to the API's URL. */
export interface ForgeRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT';
  path: string;
  body?: object;
}

export type ForgeName = 'github' | 'gitlab' | 'gitea';

/** Builds the requests for one kind of git host. Forgejo accepts the requests for Gitea. */
export interface Forge {
  headers(token: string): Record<string, string>;
  status(project: string, sha: string, report: StatusReport): ForgeRequest;
  createComment(project: string, number: string, body: string): ForgeRequest;
  editComment(project: string, number: string, id: string, body: string): ForgeRequest;
  /** Requests the comments of a pull request from `since` on. GitLab's response also contains older comments. */
  comments(project: string, number: string, since: Date): ForgeRequest;
  /** Only GitHub has deployments. */
  deployments?: {
    /** The marker is a part of the deployment, so that `deploymentWith` finds it again. */
    create(project: string, sha: string, report: EnvironmentReport, marker: string): ForgeRequest;
    list(project: string, sha: string, report: EnvironmentReport): ForgeRequest;
    status(project: string, id: string, report: EnvironmentReport): ForgeRequest;
  };
}

const JSON_TYPE = { 'Content-Type': 'application/json', 'User-Agent': 'Ranvier' };
/** The platform's own comment is searched for among this many comments of a pull request. */
const COMMENTS = 30;

const post = (path: string, body: object): ForgeRequest => ({ method: 'POST', path, body });
const ofRepository = (project: string) => `/repos/${project.split('/').map(encodeURIComponent).join('/')}`;

/** On GitHub and Gitea, pull requests and issues share their numbers, so comments use the paths of issues. */
function issueComments(): Pick<Forge, 'createComment' | 'editComment'> {
  return {
    createComment: (project, number, body) => post(`${ofRepository(project)}/issues/${number}/comments`, { body }),
    editComment: (project, _number, id, body) => ({
      method: 'PATCH',
      path: `${ofRepository(project)}/issues/comments/${id}`,
      body: { body },
    }),
  };
}

function commitStatus(project: string, sha: string, { state, description, context, link }: StatusReport): ForgeRequest {
  const shown = state === 'running' ? 'pending' : state;
  return post(`${ofRepository(project)}/statuses/${sha}`, { state: shown, description, context, target_url: link });
}

const since = (from: Date) => `since=${encodeURIComponent(from.toISOString())}`;

const github: Forge = {
  ...issueComments(),
  headers: (token) => ({
    ...JSON_TYPE,
    Accept: 'application/vnd.github+json',
    Authorization: `Bearer ${token}`,
    'X-GitHub-Api-Version': '2022-11-28',
  }),
  status: commitStatus,
  comments: (project, number, from) => ({
    method: 'GET',
    path: `${ofRepository(project)}/issues/${number}/comments?per_page=${COMMENTS}&${since(from)}`,
  }),
  deployments: {
    create: (project, sha, { environment, description, transient }, marker) =>
      post(`${ofRepository(project)}/deployments`, {
        ...{ ref: sha, environment, description, auto_merge: false, payload: { ranvier: marker } },
        // Without this list, GitHub refuses a deployment while a commit status, such as the platform's own, is pending.
        required_contexts: [],
        ...{ transient_environment: transient, production_environment: !transient },
      }),
    list: (project, sha, { environment }) => ({
      method: 'GET',
      path: `${ofRepository(project)}/deployments?sha=${sha}&environment=${encodeURIComponent(environment)}`,
    }),
    status: (project, id, { state, description, environment, link, url }) =>
      post(`${ofRepository(project)}/deployments/${id}/statuses`, {
        ...{ state, description, environment, log_url: link, auto_inactive: false },
        ...(url === null ? {} : { environment_url: url }),
      }),
  },
};

const gitea: Forge = {
  ...issueComments(),
  headers: (token) => ({ ...JSON_TYPE, Accept: 'application/json', Authorization: `token ${token}` }),
  status: commitStatus,
  comments: (project, number, from) => ({
    method: 'GET',
    path: `${ofRepository(project)}/issues/${number}/comments?${since(from)}`,
  }),
};

const GITLAB_STATES: Readonly<Record<ReportState, string>> = {
  ...{ pending: 'pending', running: 'running', success: 'success' },
  ...{ failure: 'failed', error: 'canceled' },
};
const ofProject = (project: string) => `/projects/${encodeURIComponent(project)}`;
const notes = (project: string, number: string) => `${ofProject(project)}/merge_requests/${number}/notes`;

const gitlab: Forge = {
  headers: (token) => ({ ...JSON_TYPE, Accept: 'application/json', 'PRIVATE-TOKEN': token }),
  status: (project, sha, { state, description, context, link }) =>
    post(`${ofProject(project)}/statuses/${sha}`, {
      state: GITLAB_STATES[state],
      description,
      name: context,
      target_url: link,
    }),
  createComment: (project, number, body) => post(notes(project, number), { body }),
  editComment: (project, number, id, body) => ({
    method: 'PUT',
    path: `${notes(project, number)}/${id}`,
    body: { body },
  }),
  comments: (project, number) => ({
    method: 'GET',
    path: `${notes(project, number)}?sort=desc&order_by=created_at&per_page=${COMMENTS}`,
  }),
};

export const FORGES: Readonly<Record<ForgeName, Forge>> = { github, gitlab, gitea };

/** Returns the id of what a request created, from the response; '' if the response contains none. */
export function createdId(answer: unknown): string {
  const id = field(answer, 'id');
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? String(id) : '';
}

/** Returns the id of the comment with this marker in a list of comments; '' if the list has none. */
export function commentWith(marker: string, answer: unknown): string {
  const all = Array.isArray(answer) ? answer : [];
  return createdId(all.find((one) => text(one, 'body').startsWith(markerOf(marker))));
}

/** Returns the id of the deployment with this marker in a list of deployments; '' if the list has none. */
export function deploymentWith(marker: string, answer: unknown): string {
  const all = Array.isArray(answer) ? answer : [];
  return createdId(all.find((one) => text(field(one, 'payload'), 'ranvier') === marker));
}

import { createHmac } from 'node:crypto';
import { invalidRequest } from '../core/error-registry.js';
import { field, text } from '../core/json-fields.js';
import { escapeControls, hasControls } from '../core/plain-text.js';
import type { PullReport } from '../previews/pull-model.js';
import { readPull, SHA } from '../pulls/read-report.js';
import { sameSecret } from '../secrets/random-token.js';

export const HOOK_PROVIDERS = ['github', 'gitlab', 'gitea', 'generic'] as const;
export type HookProvider = (typeof HOOK_PROVIDERS)[number];

export const MAX_HOOKS = 20;
/** GitHub sends up to 25 MB, but only for pushes with very many commits. */
export const MAX_DELIVERY_BYTES = 5 * 1024 ** 2;

/** Returns an HTTP header of a delivery by its lower-case name; '' if the header is absent. */
export type Headers = (name: string) => string;

/** Returns the URL path at which a hook receives deliveries. */
export function hookPath(id: string): string {
  return `/api/hooks/${id}`;
}

/**
 * Returns true if a delivery's sender has the hook's secret. Compares in constant time. `key` is the query parameter of
 * that name in a deploy hook's URL.
 */
export function isGenuine(
  provider: HookProvider,
  secret: string,
  { headers, body, key }: { headers: Headers; body: Buffer; key: string },
): boolean {
  const hmac = () => createHmac('sha256', secret).update(body).digest('hex');
  switch (provider) {
    case 'github':
      return sameSecret(headers('x-hub-signature-256'), `sha256=${hmac()}`);
    case 'gitea':
      return sameSecret(headers('x-gitea-signature') || headers('x-forgejo-signature'), hmac());
    case 'gitlab':
      return sameSecret(headers('x-gitlab-token'), secret);
    case 'generic':
      return sameSecret(key, secret);
  }
}

const MAX_ID_LENGTH = 200;

/** Returns a delivery's id; null if the sender sets none. A repeated delivery has the same id. */
export function deliveryId(provider: HookProvider, headers: Headers): string | null {
  const names: Record<HookProvider, string[]> = {
    github: ['x-github-delivery'],
    gitlab: ['idempotency-key', 'x-gitlab-event-uuid'],
    gitea: ['x-gitea-delivery', 'x-forgejo-delivery'],
    generic: ['idempotency-key'],
  };
  const id = names[provider].map(headers).find((given) => given !== '');
  return id === undefined ? null : id.slice(0, MAX_ID_LENGTH);
}

/** What a delivery (a webhook request of a git host) reports. */
export type HookEvent =
  | { type: 'push'; branch: string; before: string; after: string; message: string }
  | { type: 'deleted'; branch: string }
  | { type: 'pull'; report: PullReport }
  | { type: 'deploy' }
  | { type: 'ignored'; reason: string };

const HEADS = 'refs/heads/';
/** Names of events about pull requests. Gitea and Forgejo may report new commits as `pull_request_sync`. */
const PULL_EVENTS = ['pull_request', 'pull_request_sync', 'merge_request'];

/** Matches what git forbids in branch names (git check-ref-format), except control characters. */
const IMPOSSIBLE = /[ ~^:?*[\\]|\.\.|@\{|\/\/|^[/-]|(^|\/)\.|\.lock(\/|$)|[/.]$|^@?$/;
const MAX_BRANCH_LENGTH = 255;

/** Parses an authenticated delivery. `payload` is the parsed body; null if it was not JSON. Throws invalid_request. */
export function readEvent(provider: HookProvider, headers: Headers, payload: unknown): HookEvent {
  if (provider === 'generic') return { type: 'deploy' };
  const event = eventName(provider, headers, payload);
  if (PULL_EVENTS.includes(event)) {
    const report = readPull(provider, payload);
    return typeof report === 'string' ? ignored(report) : { type: 'pull', report };
  }
  if (event !== 'push') return ignored(`the event ${event === '' ? '(none)' : event.slice(0, 50)} deploys nothing`);
  const ref = text(payload, 'ref');
  const [before, after] = [text(payload, 'before'), text(payload, 'after')];
  if (ref.startsWith('refs/tags/')) return ignored('a tag was pushed');
  if (!ref.startsWith(HEADS)) return ignored('no branch was pushed');
  const branch = ref.slice(HEADS.length);
  if (branch.length > MAX_BRANCH_LENGTH || IMPOSSIBLE.test(branch) || hasControls(branch))
    throw invalidRequest(
      '/ref',
      `names no branch that git accepts: at most ${MAX_BRANCH_LENGTH} characters, no control characters, spaces, .. or ~^:?*[\\`,
    );
  if (/^0+$/.test(after) || field(payload, 'deleted') === true) return { type: 'deleted', branch };
  if (!SHA.test(after)) return ignored('the push names no commit');
  return {
    type: 'push',
    branch,
    before: SHA.test(before) && !/^0+$/.test(before) ? before : '',
    after,
    message: messageOf(payload, after),
  };
}

function eventName(provider: HookProvider, headers: Headers, payload: unknown): string {
  if (provider === 'github') return headers('x-github-event');
  if (provider === 'gitea') return headers('x-gitea-event') || headers('x-forgejo-event');
  const kind = text(payload, 'object_kind') || headers('x-gitlab-event');
  if (kind === 'Merge Request Hook') return 'merge_request';
  return kind === 'Push Hook' ? 'push' : kind;
}

function messageOf(payload: unknown, after: string): string {
  const head = text(field(payload, 'head_commit'), 'message');
  if (head !== '') return head;
  const commits = field(payload, 'commits');
  const commit = Array.isArray(commits) ? commits.find((one) => text(one, 'id') === after) : undefined;
  return text(commit, 'message');
}

/** Returns why a push needs no deployment; null if it may need one. Does not read the repository. */
export function irrelevance(
  event: Extract<HookEvent, { type: 'push' }>,
  service: { branch: string; autoDeploy: string; archived: boolean },
): string | null {
  if (service.archived) return 'the service is archived';
  if (service.autoDeploy !== 'commit') return 'autoDeploy of the service is off';
  if (event.branch !== service.branch) return `the service deploys the branch ${service.branch}`;
  if (skipsDeployment(event.message)) return SKIPPED;
  return null;
}

export const SKIPPED = 'the commit asks not to be deployed';

/** Returns true if a commit message contains a tag that skips builds or deployments. */
export function skipsDeployment(message: string): boolean {
  return /\[(skip (ci|deploy)|(ci|deploy) skip|no deploy)\]/i.test(message);
}

function ignored(reason: string): HookEvent {
  return { type: 'ignored', reason: escapeControls(reason) };
}

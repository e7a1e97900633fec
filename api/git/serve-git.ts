import { validate as isUuid } from 'uuid';
import { basicCredentials } from '../../shared/core/basic-credentials.js';
import { AppError, conflict } from '../../shared/core/error-registry.js';
import { type AccessFacts, type OperationName, refusal } from '../../shared/identity/policy.js';
import { hostsOfFolder } from '../../shared/pushes/store.js';
import { isForwarded, newForwardToken, serviceOfFetchToken, WORKER_NAME } from '../../shared/secrets/internal-token.js';
import { isPushSource } from '../../shared/services/service-source.js';
import { findServiceBySlug, findServiceView, type ServiceView } from '../../shared/services/store.js';
import { callerOfKey } from '../auth/authenticate.js';
import { assertPermitted, isMfaMissing } from '../auth/authorize.js';
import type { ApiDeps, Caller } from '../http/api-deps.js';
import { actorOf } from '../http/audit-entry.js';
import { API_ROOT, undeclared } from '../http/endpoint.js';
import { FairPlaces } from '../http/fair-places.js';
import { createFailureLimit, rateLimit } from '../http/rate-limit.js';
import type { ApiContext, ApiMiddleware } from '../http/request-state.js';
import { FORWARDED_HEADER, forwardTo, internalAddress } from './forward-request.js';
import { fetchFrom, pushTo } from './git-backend.js';
import { PushedRepositories } from './pushed-repositories.js';

/** `/git/<workspaceId>/<slug>.git`, followed by one of the three requests that git makes. */
const PATH = /^\/git\/([0-9a-f-]{36})\/([a-z0-9-]{1,64})(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/i;

const ENDPOINT = {
  root: API_ROOT,
  path: '/git/:workspaceId/:service',
  access: 'key or session',
  operation: 'git',
} as const;
const READ = undeclared({ ...ENDPOINT, method: 'GET' });
const WRITE = undeclared({ ...ENDPOINT, method: 'POST' });

interface GitRequest {
  workspaceId: string;
  name: string;
  rest: string;
  pushes: boolean;
}

/** Maximum concurrent pushes in this process, per workspace and in total. A push lasts as long as its deployment. */
const PUSHES = { each: 10, all: 100 };
const FETCHES = { each: 4, all: 16 };

export function serveGit(deps: ApiDeps): ApiMiddleware {
  const { db, config, log } = deps;
  const address = internalAddress(config);
  const repositories = new PushedRepositories({ db, log, dataDir: config.dataDir, address });
  const failures = createFailureLimit(db, config.rateLimits);
  const limit = rateLimit(db, config.rateLimits);
  const places = { push: new FairPlaces(PUSHES), fetch: new FairPlaces(FETCHES) };

  async function serve(ctx: ApiContext): Promise<void> {
    const request = parse(ctx);
    const visitor = await identify(ctx, request);
    const { service } = visitor;
    const place = new AbortController();
    const { push, fetch } = places;
    const release = (request.pushes ? push : fetch).take(request.workspaceId, (reason) => place.abort(reason));
    try {
      const { repository, row } = await repositories.open(service);
      if (repository === null) return await forward(ctx, request, row.folder_id);
      const exchange = { ctx, rest: request.rest, query: ctx.querystring, repository, signal: place.signal };
      if (!request.pushes) return await fetchFrom(deps, exchange, { anyCommit: visitor.type === 'worker' });
      if (visitor.type === 'worker') throw new AppError('forbidden');
      const most = 4 * config.pushMaxBytes;
      if (row.size_bytes >= most) {
        throw new AppError(
          'payload_too_large',
          `The repository has ${inMib(row.size_bytes)}, and the most is ${inMib(most)}; delete the service's large branches, or make a new service`,
        );
      }
      await pushTo(deps, exchange, {
        repositories,
        push: {
          service,
          repository,
          folderId: row.folder_id,
          actor: visitor.caller.email,
          authorize: visitor.authorize,
          audited: { workspace_id: request.workspaceId, ...actorOf(visitor.caller, ctx.state.requestId) },
        },
      });
    } finally {
      release();
    }
  }

  async function forward(ctx: ApiContext, request: GitRequest, folderId: string): Promise<void> {
    if (wasForwarded(ctx, request)) throw conflict('This API host does not have the repository any more');
    const token = newForwardToken(deps.keyring, nameOf(request), Date.now());
    await forwardTo(ctx, await hostsOfFolder(db, folderId), token);
  }

  function wasForwarded(ctx: ApiContext, request: GitRequest): boolean {
    return isForwarded(deps.keyring, ctx.get(FORWARDED_HEADER), nameOf(request), Date.now());
  }

  async function identify(ctx: ApiContext, request: GitRequest): Promise<Visitor> {
    const { name = '', password = '' } = basicCredentials(ctx.get('Authorization')) ?? {};
    if (password === '')
      throw new AppError('unauthenticated', 'Give a key of the workspace as the password; any user name will do');
    if (name === WORKER_NAME) {
      const id = serviceOfFetchToken(deps.keyring, password, Date.now());
      const service =
        id === null || id !== request.name ? undefined : await findServiceView(db, request.workspaceId, id);
      if (service) return { type: 'worker', service };
    }
    const ids = { workspaceId: isUuid(request.workspaceId) ? request.workspaceId : null, serviceId: null };
    const known = await callerOfKey(deps, password, ids);
    if (known === null) {
      await failures.count(ctx);
      throw new AppError(
        'unauthenticated',
        'The password is no key of this installation, or the key was revoked or has expired',
      );
    }
    const { caller, found } = known;
    ctx.state.caller = caller;
    // The API process that forwarded the request has already counted it.
    if (!wasForwarded(ctx, request)) await limit(ctx);
    if (!found.workspace || caller.workspaceId !== request.workspaceId) throw missing();
    const facts: AccessFacts = {
      role: found.workspace.role,
      scope: caller.scope,
      emailVerified: caller.emailVerified,
      mfaMissing: isMfaMissing(found.workspace.configuration, caller.secondFactor),
    };
    const operation: OperationName = request.pushes ? 'deployment.create' : 'service.read';
    if (request.pushes && caller.scope !== 'write')
      throw new AppError('forbidden', 'A push needs a write key; this one may only read');
    if (refusal(operation, facts) === 'not_found') throw missing();
    assertPermitted(operation, facts);
    const service = await findServiceBySlug(db, request.workspaceId, request.name);
    if (!service) throw missing();
    const authorize = (more: Pick<AccessFacts, 'protectedEnvironment'>) =>
      assertPermitted(operation, { ...facts, ...more });
    authorize({ protectedEnvironment: service.environment_protected });
    if (service.preview_of !== null) {
      throw conflict(`${service.name} is a preview; push its branch ${service.configuration.branch} to its service`);
    }
    if (!isPushSource(service.configuration)) {
      throw conflict(`${service.name} is not deployed by push; set its sourceType to push first`);
    }
    if (request.pushes) assertPushable(service);
    return { type: 'person', service, caller, authorize };
  }

  function assertPushable(service: ServiceView): void {
    if (!config.hostingEnabled) throw new AppError('hosting_disabled');
    if (service.archived) throw new AppError('service_archived');
  }

  return async (ctx, next) => {
    if (!ctx.path.startsWith('/git/')) return next();
    try {
      await serve(ctx);
    } catch (error) {
      if (!(error instanceof AppError) || ctx.res.headersSent) throw error;
      answerAsText(ctx, error);
    }
  };
}

type Visitor =
  | { type: 'worker'; service: ServiceView }
  | {
      type: 'person';
      service: ServiceView;
      caller: Caller;
      authorize: (facts: Pick<AccessFacts, 'protectedEnvironment'>) => void;
    };

function nameOf({ workspaceId, name }: GitRequest): string {
  return `${workspaceId}/${name}`;
}

function parse(ctx: ApiContext): GitRequest {
  const [, workspaceId = '', name = '', rest = ''] = PATH.exec(ctx.path) ?? [];
  if (rest === '') throw missing();
  const named = rest === 'info/refs' ? String(ctx.query.service ?? '') : rest;
  const method = rest === 'info/refs' ? 'GET' : 'POST';
  if (ctx.method !== method) throw new AppError('method_not_allowed');
  if (named !== 'git-upload-pack' && named !== 'git-receive-pack') {
    throw new AppError('invalid_request', "Only git's smart protocol is supported; use a newer git");
  }
  const pushes = named === 'git-receive-pack';
  ctx.state.route = pushes && rest !== 'info/refs' ? WRITE : READ;
  return { workspaceId: workspaceId.toLowerCase(), name: name.toLowerCase(), rest, pushes };
}

function missing(): AppError {
  return new AppError('not_found', 'There is no such service in the workspace of this key');
}

/** Responds to an error with plain text, which git prints in the user's terminal. */
function answerAsText(ctx: ApiContext, { status, message, details }: AppError): void {
  if (status === 401) ctx.set('WWW-Authenticate', 'Basic realm="Ranvier", charset="UTF-8"');
  ctx.status = status;
  ctx.type = 'text/plain; charset=utf-8';
  ctx.body = `${[message, ...(details ?? []).map((detail) => `${detail.path}: ${detail.message}`)].join('\n')}\n`;
}

function inMib(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MiB`;
}

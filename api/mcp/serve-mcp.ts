import type { McpHttpHandler, Server } from '@modelcontextprotocol/server';
import { Type } from 'typebox';
import { AppError, errorMessage } from '../../shared/core/error-registry.js';
import { lazily } from '../../shared/core/lazily.js';
import { VERSION } from '../../shared/core/version.js';
import { bearerToken, callerOfKey } from '../auth/authenticate.js';
import type { ApiDeps } from '../http/api-deps.js';
import { type Endpoint, SESSION_ROOT, undeclared } from '../http/endpoint.js';
import { FairPlaces } from '../http/fair-places.js';
import { consume, createFailureLimit, createLimiter } from '../http/rate-limit.js';
import { body } from '../http/read-body.js';
import type { ApiContext, ApiMiddleware } from '../http/request-state.js';
import { ApiCaller } from './call-api.js';
import { EXPLAIN_DEPLOYMENT, explainDeployment } from './explain-deployment.js';
import { apiTools } from './tools.js';

const ENDPOINT: Endpoint = {
  ...undeclared({ method: 'POST', root: SESSION_ROOT, path: '/mcp', access: 'key or session', operation: 'mcp' }),
  body: Type.Object({}),
};
/** Maximum number of messages per key and minute. Messages that call a tool also count as API requests. */
const A_MINUTE = 300;
/** Maximum number of messages handled concurrently, per workspace and in total. */
const PLACES = { each: 8, all: 64 };

const INSTRUCTIONS =
  'Ranvier hosts services: a service is a git repository and how to run it. deployment_create queues a deployment; read it until ' +
  'it has ended. If it failed, read its log with log_read and its deploymentId.';

/** Serves the Model Context Protocol at `/mcp` without sessions. Each tool is an operation of the API. */
export function serveMcp(deps: ApiDeps): ApiMiddleware {
  const { db, config } = deps;
  const failures = createFailureLimit(db, config.rateLimits);
  const limit = createLimiter(db, 'mcp', A_MINUTE);
  const places = new FairPlaces(PLACES);
  const readBody = body();
  const tools = lazily(apiTools);

  return async (ctx, next) => {
    if (ctx.path !== '/mcp') return next();
    ctx.state.route = ENDPOINT;
    const { credentialId, workspaceId } = await keyOf(ctx);
    await consume(ctx, limit, credentialId);
    const ending = new AbortController();
    const release = places.take(workspaceId, (reason) => ending.abort(reason));
    ctx.res.once('close', () => ending.abort());
    try {
      await readBody(ctx);
      const api = new ApiCaller(ctx, workspaceId, ending.signal);
      const handler = await handlerFor(api, tools());
      try {
        await answer(ctx, handler, ending.signal);
      } finally {
        await handler.close();
      }
    } finally {
      release();
    }
  };

  async function keyOf(ctx: ApiContext): Promise<{ credentialId: string; workspaceId: string }> {
    const token = bearerToken(ctx.get('Authorization'));
    const known = await callerOfKey(deps, token, { workspaceId: null, serviceId: null });
    const { credentialId, workspaceId = null } = known?.caller ?? {};
    if (credentialId !== undefined && workspaceId !== null) return { credentialId, workspaceId };
    await failures.count(ctx);
    throw new AppError('unauthenticated', 'Send an API key of the workspace as Authorization: Bearer');
  }
}

/** Loads the protocol's package at the first request of an agent, because most installations have no agents. */
async function handlerFor(api: ApiCaller, tools: ReturnType<typeof apiTools>): Promise<McpHttpHandler> {
  const { createMcpHandler, Server } = await import('@modelcontextprotocol/server');
  const create = (): Server => {
    const server = new Server(
      { name: 'ranvier', version: VERSION },
      { capabilities: { tools: {}, prompts: {} }, instructions: INSTRUCTIONS },
    );
    server.setRequestHandler('tools/list', () => ({ tools: [...tools.values()].map(({ tool }) => tool) }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const found = tools.get(params.name);
      if (found === undefined) return result({ failed: true, text: `There is no tool ${params.name}` });
      return result(await api.call(found.endpoint, params.arguments ?? {}).catch(unanswered));
    });
    server.setRequestHandler('prompts/list', () => ({ prompts: [EXPLAIN_DEPLOYMENT] }));
    server.setRequestHandler('prompts/get', async ({ params }) => {
      if (params.name !== EXPLAIN_DEPLOYMENT.name) throw new AppError('not_found', `There is no prompt ${params.name}`);
      return explainDeployment(api, tools, params.arguments ?? {});
    });
    return server;
  };
  // Tools and prompts do not change while the process runs, so subscriptions are refused.
  return createMcpHandler(create, { maxSubscriptions: 0 });
}

function result({ failed, text }: { failed: boolean; text: string }) {
  return { content: [{ type: 'text' as const, text }], isError: failed };
}

function unanswered(error: unknown): { failed: boolean; text: string } {
  return { failed: true, text: `The API did not answer: ${errorMessage(error)}` };
}

async function answer(ctx: ApiContext, { fetch }: McpHttpHandler, signal: AbortSignal): Promise<void> {
  const { req, state } = ctx;
  const headers = Object.entries(req.headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as [string, string]] : [],
  );
  const request = new Request(`http://localhost${ctx.path}`, { method: ctx.method, headers, signal });
  const response = await fetch(request, ctx.method === 'POST' ? { parsedBody: state.json ?? null } : {});
  ctx.status = response.status;
  for (const [name, value] of response.headers) ctx.set(name, value);
  ctx.body = response.body === null ? null : Buffer.from(await response.arrayBuffer());
}

import { conflict, invalidRequest } from '../../../shared/core/error-registry.js';
import type { HookProvider } from '../../../shared/hooks/model.js';
import type { ServiceView } from '../../../shared/services/store.js';
import { permitsProtected } from '../../../shared/stacks/record-apply.js';
import { deleted, found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { setReports } from './report-target.js';
import {
  CreatedHookResponse,
  CreateHookBody,
  HookListResponse,
  HookResponse,
  presentHook,
  UpdateHookBody,
} from './schema.js';
import { createHook, deleteHook, findHook, listHooks } from './store.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/hooks';
const ONE = '/workspaces/:workspaceId/services/:serviceId/hooks/:hookId';

/** Incoming webhooks: URLs that git hosts call after a push. `api/hooks/receive-hook.ts` handles the calls. */
export const hookRoutes = [
  defineRoute('GET', COLLECTION, 'hook.list', {
    summary: 'List hooks',
    description: "The service's incoming webhooks, newest first, without their secrets.",
    query: PageQuery,
    response: HookListResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const page = await listHooks(request.db, id, pageRequest(request));
      return {
        hooks: page.items.map((row) => presentHook(row, request.deps.config)),
        page: presentPage(request, page),
      };
    },
  }),
  defineRoute('POST', COLLECTION, 'hook.create', {
    summary: 'Create a hook',
    description:
      'Creates an incoming webhook: a URL to which a git host reports pushes. No other answer contains the secret.',
    errors: ['capacity_exceeded', 'conflict'],
    body: CreateHookBody,
    status: 201,
    response: CreatedHookResponse,
    // Idempotency-Key is ignored, because the stored response would contain the secret.
    keyed: false,
    handler: async (request) => {
      const { deps, trx, body, caller, authorize } = request;
      const { provider } = body;
      const service = await lockService(request);
      if (body.stack) assertCanApply(provider, service);
      const stack = body.stack ? { by: caller.userId, readsProtected: permitsProtected(authorize) } : null;
      const { id, secret } = await createHook(trx, deps.keyring, { serviceId: service.id, provider, stack });
      const { token = '', apiUrl } = body;
      await setReports(trx, deps, {
        service,
        hook: { id, provider },
        token,
        ...(apiUrl === undefined ? {} : { apiUrl }),
      });
      const shown = presentHook(found(await findHook(trx, service.id, id)), deps.config);
      const url = provider === 'generic' ? `${shown.url}?key=${secret}` : shown.url;
      return { hook: { ...shown, url, secret } };
    },
  }),
  defineRoute('GET', ONE, 'hook.read', {
    summary: 'Read a hook',
    description: 'The URL of an incoming webhook, its last delivery, and the result of that delivery.',
    response: HookResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return { hook: presentHook(found(await findHook(request.db, id, request.params.hookId)), request.deps.config) };
    },
  }),
  defineRoute('PATCH', ONE, 'hook.update', {
    summary: 'Change the token of a hook',
    description:
      'Sets the token with which states of deployments are reported to the git host; an empty one ends the reports.',
    errors: ['conflict'],
    body: UpdateHookBody,
    response: HookResponse,
    handler: async (request) => {
      const { deps, trx, body, params } = request;
      const service = await lockService(request);
      const hook = found(await findHook(trx, service.id, params.hookId));
      await setReports(trx, deps, { service, hook, ...body });
      return { hook: presentHook(found(await findHook(trx, service.id, hook.id)), deps.config) };
    },
  }),
  defineRoute('DELETE', ONE, 'hook.delete', {
    summary: 'Delete a hook',
    description: 'Deletes an incoming webhook. Deliveries to its URL are then answered with 404.',
    response: DeletedResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      return deleted(await deleteHook(request.trx, id, request.params.hookId));
    },
  }),
];

/** Throws invalid_request for a deploy hook, and conflict for a preview or a service without an environment. */
function assertCanApply(provider: HookProvider, { environment_id, preview_of }: ServiceView): void {
  if (provider === 'generic') throw invalidRequest('/stack', 'needs a git host: a deploy hook reports no push');
  if (preview_of !== null) throw conflict('A push applies the stack of the base service: make the hook there');
  if (environment_id === null) throw conflict('A stack belongs to an environment: move the service into one first');
}

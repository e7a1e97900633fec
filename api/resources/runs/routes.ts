import { findRun, listRuns } from '../../../shared/runs/store.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { PageQuery } from '../../http/schema.js';
import { CancelResponse } from '../deployments/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { queueRun, requestRunCancel } from './commands.js';
import { presentRun } from './present.js';
import { RunBody, RunListResponse, RunResponse } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/runs';
const ONE = '/workspaces/:workspaceId/services/:serviceId/runs/:runId';

/** The runs of a service: ticks of a schedule, commands that were given by hand, and pre-deploy commands. */
export const runRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'run.list',
    summary: "List a service's runs, newest first",
    query: PageQuery,
    response: RunListResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const page = await listRuns(request.db, id, pageRequest(request));
      return { runs: page.items.map(presentRun), page: presentPage(request, page) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'run.create',
    summary: "Queue a run of a command with the live release now; without `command`, of a cron service's own",
    body: RunBody,
    response: RunResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, needEngine } = request;
      const service = await lockService(request);
      needEngine();
      return { run: presentRun(await queueRun(trx, deps, { service, actor: caller.email, body })) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: ONE,
    operation: 'run.read',
    summary: 'Read a run',
    response: RunResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return { run: presentRun(found(await findRun(request.db, id, request.params.runId))) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${ONE}/cancel`,
    operation: 'run.cancel',
    summary: 'Request the cancellation of a run; poll the run until it ends',
    response: CancelResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      await requestRunCancel(request.trx, { serviceId: id, runId: request.params.runId });
      request.wakeDispatcher();
      return { cancelRequested: true } as const;
    },
  }),
];

import { findRun, listRuns } from '../../../shared/runs/store.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { PageQuery } from '../../http/schema.js';
import { CancelResponse } from '../deployments/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { LIVE_SERVICE_ERRORS } from '../services/lock-live-service.js';
import { queueRun, requestRunCancel } from './commands.js';
import { presentRun, RunBody, RunListResponse, RunResponse } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/runs';
const ONE = '/workspaces/:workspaceId/services/:serviceId/runs/:runId';

export const runRoutes = [
  defineRoute('GET', COLLECTION, 'run.list', {
    summary: 'List runs',
    description: 'The runs of a service, newest first: ticks of its schedule, given commands, and pre-deploy commands.',
    query: PageQuery,
    response: RunListResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const page = await listRuns(request.db, id, pageRequest(request));
      return { runs: page.items.map(presentRun), page: presentPage(request, page) };
    },
  }),
  defineRoute('POST', COLLECTION, 'run.create', {
    summary: 'Start a run',
    description:
      'Queues a run with the live release. A given `command` is started once. Without it, a cron service runs its own command, with its retries; other kinds need it.',
    body: RunBody,
    example: { command: 'npm run migrate', timeoutSeconds: 600 },
    errors: [...LIVE_SERVICE_ERRORS, 'billing_required'],
    response: RunResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, authorize, needEngine, note } = request;
      const service = await lockService(request);
      needEngine();
      const run = await queueRun(trx, deps, { service, actor: caller.email, body, authorize });
      note({ command: run.command });
      return { run: presentRun(run) };
    },
  }),
  defineRoute('GET', ONE, 'run.read', {
    summary: 'Read a run',
    description: 'A run has ended if finishedAt is not null.',
    response: RunResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return { run: presentRun(found(await findRun(request.db, id, request.params.runId))) };
    },
  }),
  defineRoute('POST', `${ONE}/cancel`, 'run.cancel', {
    summary: 'Cancel a run',
    description: 'Requests the cancellation: read the run until it has ended.',
    errors: ['conflict'],
    response: CancelResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      await requestRunCancel(request.trx, { serviceId: id, runId: request.params.runId });
      request.wakeDispatcher();
      return { cancelRequested: true } as const;
    },
  }),
];

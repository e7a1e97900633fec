import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import { defineRoute } from '../../http/route.js';
import { askForDetection, detectionOf } from './commands.js';
import { presentDetection } from './present.js';
import { DetectBody, DetectResponse } from './schema.js';

/** How long a request waits for the worker that reads the repository, in milliseconds. The API itself never clones. */
const WAIT_MS = 30_000;

export const detectionRoutes = [
  defineRoute({
    method: 'POST',
    path: '/workspaces/:workspaceId/detect',
    operation: 'detection.create',
    summary: 'Inspect a repository',
    description:
      'Detects what a deployment of the repository would build and run, without deploying it. A worker reads the repository, which takes up to 30 seconds.',
    errors: ['source_invalid', 'capacity_exceeded'],
    keyed: false,
    body: DetectBody,
    response: DetectResponse,
    engine: true,
    handler: async ({ deps, trx, params, body, needEngine }) => {
      needEngine();
      const id = await askForDetection(trx, deps, {
        workspaceId: params.workspaceId,
        repository: body.repository,
        branch: body.branch ?? DEFAULT_CONFIGURATION.branch,
        rootDirectory: body.rootDirectory ?? '',
      });
      return { pending: id };
    },
    complete: async (id, { db }) => ({ detection: presentDetection(await detectionOf(db, id, WAIT_MS)) }),
  }),
];

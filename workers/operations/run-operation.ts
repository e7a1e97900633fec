import { OPERATIONS } from '../../shared/operations/kind.js';
import type { OperationRow } from '../../shared/operations/model.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { getService } from '../../shared/services/store.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { type Outcome, perform } from '../engine/perform-record.js';
import type { JobDeps } from '../worker-deps.js';

export interface OperationRun {
  operation: OperationRow;
  service: ServiceRow;
  signal: AbortSignal;
}

export const DONE: Outcome = { event: 'succeeded' };

/** Performs an operation; does nothing if the service is gone. Writes a failure to the service's log. */
export function runOperation(
  deps: JobDeps,
  operationId: string,
  helpers: JobHelpers,
  run: (operation: OperationRun) => Promise<Outcome>,
): Promise<string> {
  return perform<OperationRow>(
    deps,
    {
      kind: OPERATIONS,
      failsJob: true,
      async run({ record: operation, signal }) {
        helpers.report(`${operation.kind}: begins (fence ${operation.fence})`);
        const service = await getService(deps.db, operation.service_id);
        return service ? run({ operation, service, signal }) : DONE;
      },
      describe: ({ kind }, cause) => `${kind}: ${cause}`,
      afterEnd: ({ record }, { cause }) =>
        deps.logs.sayToLive(record.service_id, `The operation failed at ${cause}`, 'error'),
    },
    operationId,
    helpers,
  );
}

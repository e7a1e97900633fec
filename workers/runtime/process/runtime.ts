import type { RuntimeDriver } from '../driver.js';
import { ReplicaRuntime } from '../replica-runtime.js';
import { Supervisor } from '../supervisor.js';
import { runReleaseCommand } from './command.js';
import type { ProcessRuntimeDeps } from './deps.js';
import { explainExit, explainSilence } from './explain.js';
import { ProcessHousehold } from './household.js';

/** Runs releases as supervised processes on this host. */
export function createProcessRuntime(deps: ProcessRuntimeDeps): RuntimeDriver {
  const supervisor = new Supervisor(deps, new ProcessHousehold(deps));
  return new ReplicaRuntime(deps, {
    name: 'process',
    start: () => supervisor.start(),
    close: (platformEnds) => supervisor.close(platformEnds),
    explainExit: (spec, row) => explainExit(deps, spec, row),
    explainSilence: (spec, rows) => explainSilence(deps, spec, rows),
    runCommand: (spec, command, options) => runReleaseCommand(deps, spec, command, options),
  });
}

import { ReplicaRuntime } from '../replica-runtime.js';
import type { RuntimeDriver } from '../runtime-driver.js';
import { Supervisor } from '../supervisor.js';
import { Firewall } from './firewall.js';
import { runReleaseCommand } from './process-command.js';
import { explainProcessExit, explainProcessSilence } from './process-failures.js';
import { ProcessHost } from './process-host.js';
import type { ProcessRuntimeDeps } from './replica-sandbox.js';

/** Runs releases as supervised processes on this host. */
export function createProcessRuntime(deps: ProcessRuntimeDeps): RuntimeDriver {
  const firewall = new Firewall(deps);
  const supervisor = new Supervisor(deps, new ProcessHost({ ...deps, firewall }));
  return new ReplicaRuntime(deps, {
    name: 'process',
    start: () => supervisor.start(),
    close: async (platformEnds) => {
      await supervisor.close(platformEnds);
      await firewall.close();
      await deps.sandbox.network?.close();
    },
    explainExit: (spec, row) => explainProcessExit(deps, spec, row),
    explainSilence: (spec, rows) => explainProcessSilence(deps, spec, rows),
    runCommand: (spec, command, options) => runReleaseCommand(deps, spec, command, options),
  });
}

import { ReplicaRuntime } from '../replica-runtime.js';
import type { RuntimeDriver } from '../runtime-driver.js';
import { Supervisor } from '../supervisor.js';
import { UsageSampler } from '../usage-sampler.js';
import { Firewall } from './firewall.js';
import { explainProcessExit, explainProcessSilence } from './process-failures.js';
import { ProcessHost } from './process-host.js';
import { type ProcessRuntimeDeps, sandboxIdOf } from './replica-sandbox.js';

/** Runs releases as supervised processes on this host. */
export function createProcessRuntime(deps: ProcessRuntimeDeps): RuntimeDriver {
  const firewall = new Firewall(deps);
  const supervisor = new Supervisor(deps, new ProcessHost({ ...deps, firewall }));
  const sampler = new UsageSampler({
    ...deps,
    everyMs: deps.config.metricsSeconds * 1000,
    usage: (replica) => deps.sandbox.usage(sandboxIdOf(replica)),
    active: () => supervisor.leading,
  });
  return new ReplicaRuntime(deps, {
    name: 'process',
    start: async () => {
      await supervisor.start();
      sampler.start();
    },
    close: async (platformEnds) => {
      await sampler.close();
      await supervisor.close(platformEnds);
      await firewall.close();
      await deps.sandbox.allNetworks?.close();
    },
    ownPort: async ({ address, port }) => deps.sandbox.allNetworks?.portBehind(address, port) ?? port,
    explainExit: (spec, row) => explainProcessExit(deps, spec, row),
    explainSilence: (spec, rows) => explainProcessSilence(deps, spec, rows),
  });
}

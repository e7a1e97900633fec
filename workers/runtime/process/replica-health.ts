import { isDataKind } from '../../../shared/services/model.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { recordPort } from '../../replicas/start-store.js';
import { socketsOfNamespace } from '../../sandbox/listening-sockets.js';
import { ReadinessProbe } from '../readiness-probe.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import type { PortDeps } from './claim-port.js';
import { ImageCheck } from './image-check.js';
import { PortFinder } from './port-finder.js';
import { sandboxIdOf } from './replica-sandbox.js';

export type HealthFinding =
  | 'none'
  /** Another process of the host listens on the replica's port. */
  | 'portLost'
  /** A database server has not responded for too long. */
  | 'silent';

/** In a rootless network, the forwarded port accepts every connection, so that a test connection shows nothing. */
async function listensInside({ pid }: ReplicaRow, port: number | null): Promise<boolean> {
  const sockets = pid === null ? null : await socketsOfNamespace(pid);
  return sockets?.some((socket) => socket.port === port) ?? false;
}

/** Checks the health of one attempt, and finds the port on which it listens. */
export class ReplicaHealth {
  readonly #deps: PortDeps;
  readonly #probe: ReadinessProbe;
  readonly #ports: PortFinder;

  constructor(deps: PortDeps) {
    this.#deps = deps;
    this.#probe = new ReadinessProbe(deps, { probe: deps.data?.health, imageProbe: new ImageCheck(deps.sandbox) });
    this.#ports = new PortFinder(deps.sandbox);
  }

  /** In milliseconds since the epoch. */
  get nextCheckAt(): number {
    return this.#probe.nextCheckAt;
  }

  async check(row: ReplicaRow, spec: ReleaseSpec): Promise<HealthFinding> {
    if (isDataKind(spec.kind)) {
      await this.#probe.check(row, spec, async () => true);
      return this.#probe.isServerSilent(row) ? 'silent' : 'none';
    }
    if (this.#deps.sandbox.allNetworks?.owns(row.address)) return this.#checkOwnNetwork(row, spec);
    return this.#checkOnHost(row, spec);
  }

  async #checkOnHost(row: ReplicaRow, spec: ReleaseSpec): Promise<HealthFinding> {
    const { db, sandbox, firewall } = this.#deps;
    let lost = false;
    let elsewhere: number | null = null;
    await this.#probe.check(row, spec, async (port) => {
      const holder = await sandbox.portHolder(sandboxIdOf(row), spec.userNumber, row.address, port);
      lost = holder === 'stranger';
      if (holder === 'nobody' && row.state === 'starting') elsewhere = await this.#ports.findOnHost(row, spec);
      return holder === 'own' || holder === 'unknown';
    });
    if (lost) return 'portLost';
    if (elsewhere !== null && (await recordPort(db, row, elsewhere))) await firewall.apply();
    return 'none';
  }

  /** The application may have chosen another port, but no other process can take the replica's port. */
  async #checkOwnNetwork(row: ReplicaRow, spec: ReleaseSpec): Promise<HealthFinding> {
    if (Date.now() < this.#probe.nextCheckAt) return 'none';
    let port = row.port;
    const network = this.#deps.sandbox.allNetworks;
    // In a rootless network, a port becomes reachable only after `find` has found it. Until then, no check passes.
    let isFound = true;
    if (row.state === 'starting' && port !== null) {
      const found = await this.#ports.find(row, spec);
      isFound = found !== null;
      if (found !== null) port = (await network?.lead(sandboxIdOf(row), found)) ?? found;
      if (port !== row.port && !(await recordPort(this.#deps.db, row, port))) return 'none';
    }
    const own = (await network?.portBehind(row.address, port)) ?? port;
    const isLed = network?.level === 'rootless';
    await this.#probe.check(
      { ...row, port },
      spec,
      async () => !isLed || (isFound && (await listensInside(row, own))),
      own,
    );
    return 'none';
  }
}

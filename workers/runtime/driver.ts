import type { ServiceConfiguration } from '../../shared/domain/configuration.js';
import type { ImageManifest } from '../../shared/domain/image.js';
import type { ReplicaState } from '../../shared/domain/replica.js';
import type { ServiceKind } from '../../shared/domain/service.js';

/** Everything a runtime needs to run one release. Made from the deployment's own snapshot (`deploy/release-spec.ts`). */
export interface ReleaseSpec {
  deploymentId: string;
  serviceId: string;
  workspaceId: string;
  userNumber: number;
  kind: ServiceKind;
  /** The service's name at the edge, and in its private network. */
  slug: string;
  /** Services of one environment share a private network; null where the service is in none. */
  environmentId: string | null;
  configuration: ServiceConfiguration;
  image: { id: string; digest: string; manifest: ImageManifest };
  /** The service's variables in clear, over the manifest's environment. PORT is the runtime's to set. */
  environment: Record<string, string>;
}

export interface ReplicaView {
  id: string;
  state: ReplicaState;
  address: string;
  port: number | null;
  restarts: number;
  exitDetail: string;
}

/** Why a release did not become healthy, in words for the person who deployed. */
export class ReleaseError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ReleaseError';
  }
}

export interface CommandOptions {
  signal: AbortSignal;
  timeoutMs: number;
  onLine: (line: string) => Promise<void>;
}

/**
 * A runtime: it keeps releases running and says how they are, by way of the `replicas` table, which the edge reads.
 * Every method may be called twice and goes on where a dead worker left off.
 */
export interface RuntimeDriver {
  readonly name: string;
  /** Begins to look after this host's releases (adoption of what still runs included). */
  start(): Promise<void>;
  /**
   * Lets go; releases run on for another worker to adopt. Where the whole platform ends (`platformEnds`), a runtime whose
   * releases need it ends them too; they start again with the platform.
   */
  close(platformEnds?: boolean): Promise<void>;
  /** Starts the release's replicas beside whatever runs, and returns when all are ready. Throws `ReleaseError`. */
  release(spec: ReleaseSpec, signal: AbortSignal): Promise<void>;
  /** Stops every replica of the release (TERM, wait, KILL) and returns when none is left. */
  stop(deploymentId: string): Promise<void>;
  /** Runs `replicas` copies of a release that runs already, without stopping one that stays. Throws `ReleaseError`. */
  scale(spec: ReleaseSpec, replicas: number, signal: AbortSignal): Promise<void>;
  /** Replaces every replica by a new one, the old ones serving until the new are ready. Throws `ReleaseError`. */
  restart(spec: ReleaseSpec, signal: AbortSignal): Promise<void>;
  inspect(deploymentId: string): Promise<ReplicaView[]>;
  /** Runs one command in the release's image and environment, beside its replicas. Throws `ReleaseError` naming the command. */
  runCommand(spec: ReleaseSpec, command: string, options: CommandOptions): Promise<void>;
}

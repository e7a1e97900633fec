import type { ImageManifest } from '../../shared/images/model.js';
import type { AttemptOutcome } from '../../shared/runs/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceKind } from '../../shared/services/model.js';
import type { ReplicaRow } from '../replicas/rows.js';

/** Everything a runtime needs to run one release, from its deployment's snapshot (`releases/release-spec.ts`). */
export interface ReleaseSpec {
  deploymentId: string;
  serviceId: string;
  workspaceId: string;
  userNumber: number;
  kind: ServiceKind;
  /** True if the service has volumes, which only one replica at a time may use. */
  hasVolumes?: boolean;
  /** The service's name at the edge and in its private network. */
  slug: string;
  /** A further name in its private network; '' or absent for none. */
  alias?: string;
  /** The environment, whose services share a private network; null if the service is in no environment. */
  environmentId: string | null;
  configuration: ServiceConfiguration;
  image: { id: string; digest: string; manifest: ImageManifest };
  /** The environment in the image's manifest, overridden by the service's unsealed variables. The runtime adds PORT. */
  environment: Record<string, string>;
}

export interface RunAttempt {
  runId: string;
  runNumber: number;
  /** Number of the attempt, counted from 1. */
  attempt: number;
  timeoutMs: number;
}

/**
 * Keeps releases running and records their state in the table `replicas`, which the edge reads. Every method is
 * idempotent and continues what an earlier worker started.
 */
export interface RuntimeDriver {
  /** Starts to reconcile this host's replicas, and adopts those that are still running. */
  start(): Promise<void>;
  /**
   * Stops reconciling. Releases keep running, and another worker adopts them. If the whole platform stops
   * (`platformEnds`), releases that cannot run without the platform are stopped. They start again with the platform.
   */
  close(platformEnds?: boolean): Promise<void>;
  /**
   * Starts the release's replicas next to those of other releases. Resolves when all are ready. Throws `ReleaseError`.
   */
  release(spec: ReleaseSpec, signal: AbortSignal): Promise<void>;
  /** Stops every replica of the release (SIGTERM, grace period, SIGKILL). Resolves when none is left. */
  stop(deploymentId: string): Promise<void>;
  /** Changes the number of replicas of a running release. Replicas that stay are not touched. Throws `ReleaseError`. */
  scale(spec: ReleaseSpec, replicas: number, signal: AbortSignal): Promise<void>;
  /** Replaces every replica. The old ones get requests until the new ones are ready. Throws `ReleaseError`. */
  restart(spec: ReleaseSpec, signal: AbortSignal): Promise<void>;
  /** Returns a release's replicas that are not stopped, each with the port on which its application listens. */
  inspect(deploymentId: string): Promise<ReplicaRow[]>;
  /**
   * Runs the command of a run once, next to the release's replicas, with its output in the log. If an attempt is
   * already in progress, even in another worker, waits for that one. If aborted, rejects with the signal's reason, and
   * the command continues. Throws `ReleaseError`.
   */
  runAttempt(spec: ReleaseSpec, attempt: RunAttempt, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Stops the attempts of a run (SIGTERM, grace period, SIGKILL). Resolves when none is left. */
  stopRun(runId: string): Promise<void>;
}

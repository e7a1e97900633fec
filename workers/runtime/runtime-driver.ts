import type { ImageManifest } from '../../shared/images/model.js';
import type { AttemptOutcome } from '../../shared/runs/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceKind } from '../../shared/services/model.js';
import type { ReplicaRow } from '../replicas/rows.js';

/** Everything a runtime needs to run one release. `releases/release-spec.ts` makes it from the deployment's snapshot. */
export interface ReleaseSpec {
  deploymentId: string;
  serviceId: string;
  workspaceId: string;
  userNumber: number;
  kind: ServiceKind;
  /** True if the service has volumes, which one replica at a time may have. */
  hasVolumes?: boolean;
  /** The service's name at the edge and in its private network. */
  slug: string;
  /** A further name in its private network; '' or absent for none. */
  alias?: string;
  /** Services of one environment share a private network; null if the service is in no environment. */
  environmentId: string | null;
  configuration: ServiceConfiguration;
  image: { id: string; digest: string; manifest: ImageManifest };
  /** The environment of the manifest, overridden by the service's variables, unsealed. The runtime sets PORT. */
  environment: Record<string, string>;
}

/** One attempt of a run. */
export interface RunAttempt {
  runId: string;
  /** The number of the run, which is unique. */
  runNumber: number;
  /** Counts from 1. */
  attempt: number;
  timeoutMs: number;
}

/**
 * Keeps releases running and records their state in the `replicas` table, which the edge reads. Every method is
 * idempotent and continues what an earlier worker began.
 */
export interface RuntimeDriver {
  /** Starts to reconcile this host's replicas, and adopts those that still run. */
  start(): Promise<void>;
  /**
   * Stops reconciling. Releases continue to run, and another worker adopts them. If the whole platform ends
   * (`platformEnds`), a runtime whose releases cannot run without it ends them; they start again with the platform.
   */
  close(platformEnds?: boolean): Promise<void>;
  /** Starts the release's replicas beside those of other releases. Resolves when all are ready. Throws `ReleaseError`. */
  release(spec: ReleaseSpec, signal: AbortSignal): Promise<void>;
  /** Stops every replica of the release (TERM, grace period, KILL). Resolves when none is left. */
  stop(deploymentId: string): Promise<void>;
  /** Changes the number of replicas of a running release, without touching those that stay. Throws `ReleaseError`. */
  scale(spec: ReleaseSpec, replicas: number, signal: AbortSignal): Promise<void>;
  /** Replaces every replica. The old ones serve until the new ones are ready. Throws `ReleaseError`. */
  restart(spec: ReleaseSpec, signal: AbortSignal): Promise<void>;
  /** Returns a release's replicas that are not stopped, each with the port on which its application listens. */
  inspect(deploymentId: string): Promise<ReplicaRow[]>;
  /**
   * Runs the command of a run once, beside the release's replicas and with its output in the log. If an attempt is in
   * progress, also of another worker, waits for it. An abort rejects with the signal's reason, and the command
   * continues. Throws `ReleaseError`.
   */
  runAttempt(spec: ReleaseSpec, attempt: RunAttempt, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Ends the attempts of a run (TERM, grace period, KILL). Resolves when nothing of them is left. */
  stopRun(runId: string): Promise<void>;
}

import type { ReplicaRow } from '../replicas/rows.js';
import type { ResourceUsage } from '../sandbox/sandbox.js';
import type { ReleaseSpec } from './runtime-driver.js';
import type { MeasurableReplica } from './usage-store.js';

/** Reconciles one replica: makes the running process match the row. */
export interface ReplicaController {
  /** When the replica has to be reconciled again, in milliseconds since the epoch, even if nothing changes. */
  readonly nextCheckAt: number;
  /** Observes the replica and does what is needed. Calls never overlap. A rejection is retried with a back-off. */
  reconcile(row: ReplicaRow): Promise<void>;
  /** True if nothing can have changed since the last reconciliation, so that this row need not be reconciled now. */
  isIdle?(row: ReplicaRow): boolean;
  /** Ends background work, because the replica is gone or another supervisor controls it. */
  close?(): void;
}

/** What a supervisor reconciles: a machine with its processes, or a swarm. */
export interface SupervisedHost {
  /** Polling interval when no notification arrives, in milliseconds. */
  readonly pollMs: number;
  controller(id: string, wake: () => void): ReplicaController;
  /** Refreshes the observed state once, before replicas are reconciled. */
  observe?(rows: readonly ReplicaRow[]): Promise<void>;
  /**
   * Ends what runs on the host and belongs to no replica in the table, which `rows` reads. List what runs before calling
   * `rows`: otherwise a replica that starts in between is not in the rows, and is ended.
   */
  sweep(rows: () => Promise<readonly ReplicaRow[]>): Promise<void>;
  /** True if a second replica fits beside this one. Without this method there is always room. */
  hasRoom?(row: ReplicaRow): Promise<boolean>;
  /** Ends all replicas because the whole platform ends. Without this method they run on. */
  end?(rows: readonly ReplicaRow[]): Promise<void>;
}

/** The part of a runtime that differs between processes and Swarm. */
export interface ReplicaHost extends SupervisedHost {
  /** True if each worker measures the replicas of its own engine. Otherwise only the leader measures. */
  readonly isMeasuredByAll: boolean;
  prepareUsage?(): Promise<void>;
  /** Returns what a replica has used so far; null if this worker cannot know. */
  usage(replica: MeasurableReplica): Promise<ResourceUsage | null>;
  /**
   * Returns the port on which a replica's application listens; null if it listens on none. Absent if that is always the
   * configured port.
   */
  ownPort?(row: ReplicaRow): Promise<number | null>;
  /** Returns the ports on which a replica's processes listen. Absent if the host cannot see them. */
  listeningPorts?(row: ReplicaRow): Promise<number[]>;
  /**
   * Returns why the HEALTHCHECK of a replica's image does not pass; '' if it does. Absent if the host does not run it.
   */
  imageTrouble?(row: ReplicaRow, spec: ReleaseSpec): Promise<string>;
  /** Returns a replica's last lines of output, masked; none if they cannot be read. */
  lastOutput(row: ReplicaRow, spec: ReleaseSpec): Promise<string[]>;
  /**
   * Returns the host that runs a database. Absent if any host with the server's program can. Throws `ReleaseError` if
   * there is none.
   */
  hostOfData?(spec: ReleaseSpec): Promise<string>;
  /** Called after the supervisor has stopped. */
  close?(): Promise<void>;
}

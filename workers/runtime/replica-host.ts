import type { ReplicaRow } from '../replicas/rows.js';
import type { ResourceUsage } from '../sandbox/sandbox.js';
import type { ReleaseSpec } from './runtime-driver.js';
import type { MeasurableReplica } from './usage-store.js';

/** Reconciles one replica: makes the running process match the database row. */
export interface ReplicaController {
  /** When the replica must be reconciled again even if nothing changes, in milliseconds since the epoch. */
  readonly nextCheckAt: number;
  /** Observes the replica and applies what is needed. Calls never overlap. A rejected call is retried with back-off. */
  reconcile(row: ReplicaRow): Promise<void>;
  /** True if nothing can have changed since the last reconciliation, so that the replica need not be reconciled now. */
  isIdle?(row: ReplicaRow): boolean;
  /** True if the supervisor is woken by the replica's exit and output, so that the row need not be polled. */
  isWatched?(row: ReplicaRow): boolean;
  /** Stops background work, because the replica is gone or another supervisor controls it. */
  close?(): void;
}

/** What a supervisor reconciles: a machine with its processes, or a swarm. */
export interface SupervisedHost {
  /** Polling interval when no notification arrives, in milliseconds. A host with nothing to do is polled less often. */
  readonly pollMs: number;
  controller(id: string, wake: () => void): ReplicaController;
  /** Refreshes the observed state once per pass, before replicas are reconciled. */
  observe?(rows: readonly ReplicaRow[]): Promise<void>;
  /** Drops what this worker remembers of the host, because another worker may have led the host in the meantime. */
  forget?(): void;
  /**
   * Kills everything on the host that belongs to no replica in the database. Implementations must list what runs on
   * the host before they call `rows`. Otherwise a replica that starts in between would be missing from the rows, and
   * would be killed.
   */
  sweep(rows: () => Promise<readonly ReplicaRow[]>): Promise<void>;
  /** Resolves to true if the host has room for a second replica next to this one. If absent, there is always room. */
  hasRoom?(row: ReplicaRow): Promise<boolean>;
  /** Stops all replicas because the whole platform stops. If absent, they keep running. */
  end?(rows: readonly ReplicaRow[]): Promise<void>;
}

/** The part of a runtime that differs between processes and Swarm. */
export interface ReplicaHost extends SupervisedHost {
  /**
   * True if each worker measures replicas' resource usage on its own Docker engine. Otherwise only the leading worker
   * does.
   */
  readonly isMeasuredByAll: boolean;
  prepareUsage?(): Promise<void>;
  /** Returns what a replica has used so far; null if this worker cannot measure it. */
  usage(replica: MeasurableReplica): Promise<ResourceUsage | null>;
  /**
   * Returns the port on which an application listens; null for none. If this method is absent, the application
   * listens on the configured port.
   */
  ownPort?(row: ReplicaRow): Promise<number | null>;
  /** Returns the ports on which a replica's processes listen. Absent if the host cannot list them. */
  listeningPorts?(row: ReplicaRow): Promise<number[]>;
  /**
   * Returns why the HEALTHCHECK of a replica's image does not pass; '' if it passes. Absent if the host runs no
   * HEALTHCHECK.
   */
  imageTrouble?(row: ReplicaRow, spec: ReleaseSpec): Promise<string>;
  /** Returns a replica's last lines of output, masked; none if they cannot be read. */
  lastOutput(row: ReplicaRow, spec: ReleaseSpec): Promise<string[]>;
  /**
   * Returns the id of the host for a database. Throws `ReleaseError` if there is none. If the method is absent, any
   * host with the server's program can be chosen.
   */
  hostOfData?(spec: ReleaseSpec): Promise<string>;
  /** Called after the supervisor has stopped. */
  close?(): Promise<void>;
}

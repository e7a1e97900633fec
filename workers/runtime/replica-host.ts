import type { ReplicaRow } from '../replicas/rows.js';
import type { ResourceUsage } from '../sandbox/sandbox.js';
import type { ReleaseSpec } from './runtime-driver.js';
import type { MeasurableReplica } from './usage-store.js';

/** Reconciles one replica: makes the running process match the database row. */
export interface ReplicaController {
  /** When the replica must be reconciled even if nothing changes, in milliseconds since the epoch. */
  readonly nextCheckAt: number;
  /** Calls never overlap. A rejected call is retried with back-off. */
  reconcile(row: ReplicaRow): Promise<void>;
  /** True if the replica need not be reconciled, because nothing can have changed. */
  isIdle?(row: ReplicaRow): boolean;
  /** True if the replica's exit and output wake the supervisor, so that the row need not be polled. */
  isWatched?(row: ReplicaRow): boolean;
  /** Called when the replica is gone or another supervisor controls it. */
  close?(): void;
}

/** A machine with its processes, or a swarm. */
export interface SupervisedHost {
  /** Polling interval when no notification arrives. A host with nothing to do is polled less often. */
  readonly pollMs: number;
  controller(id: string, wake: () => void): ReplicaController;
  /** Called once per pass, before replicas are reconciled. */
  observe?(rows: readonly ReplicaRow[]): Promise<void>;
  /** Drops what this worker remembers of the host, because another worker may have led the host in the meantime. */
  forget?(): void;
  /**
   * Kills everything on the host that belongs to no replica in the database. Implementations must list what runs on the
   * host before they call `rows`. Otherwise a replica that starts in between would be killed.
   */
  sweep(rows: () => Promise<readonly ReplicaRow[]>): Promise<void>;
  /** False if the host has no room for a second replica next to this one. */
  hasRoom?(row: ReplicaRow): Promise<boolean>;
  /** Stops all replicas because the whole platform stops. If absent, they keep running. */
  end?(rows: readonly ReplicaRow[]): Promise<void>;
}

/** The part of a runtime that differs between processes and Swarm. */
export interface ReplicaHost extends SupervisedHost {
  /** True if each worker measures the replicas on its own Docker engine. Otherwise only the leading worker measures. */
  readonly isMeasuredByAll: boolean;
  prepareUsage?(): Promise<void>;
  /** Null if this worker cannot measure the replica. */
  usage(replica: MeasurableReplica): Promise<ResourceUsage | null>;
  /** Returns the port on which an application listens. Without this method, it is the configured port. */
  ownPort?(row: ReplicaRow): Promise<number | null>;
  /** Absent if the host cannot list the ports on which processes listen. */
  listeningPorts?(row: ReplicaRow): Promise<number[]>;
  /** Returns why the HEALTHCHECK of a replica's image does not pass; '' if it passes. */
  imageTrouble?(row: ReplicaRow, spec: ReleaseSpec): Promise<string>;
  /** Returns the last lines of a replica's output, masked. Returns none if they cannot be read. */
  lastOutput(row: ReplicaRow, spec: ReleaseSpec): Promise<string[]>;
  /**
   * Returns the host that runs a database. Throws `ReleaseError` if no host can. Without this method, any host with the
   * program of the database server can run the database.
   */
  hostOfData?(spec: ReleaseSpec): Promise<string>;
  close?(): Promise<void>;
}

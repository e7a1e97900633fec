import type { ReplicaDesire, ReplicaState } from './model.js';

/** Rows as pg gives them to us. Column comments are in the migrations. */
export interface ReplicaRow {
  id: string;
  service_id: string;
  deployment_id: string;
  host_id: string;
  generation: number;
  position: number;
  desired: ReplicaDesire;
  state: ReplicaState;
  address: string;
  port: number | null;
  given_port: number | null;
  pid: number | null;
  pid_started: string | null;
  restarts: number;
  exit_detail: string;
  next_start_at: Date | null;
  log_offset: number;
  task_id: string | null;
  log_since: string | null;
  ready_at: Date | null;
  started_at: Date | null;
  checked_at: Date | null;
  stopped_at: Date | null;
  failing_since: Date | null;
  health_answer: string;
  replace_at: Date | null;
  replacements: number;
  surge_failed: boolean;
  replaces: string | null;
  run_id: string | null;
  run_attempt: number | null;
  exit_code: number | null;
  volume_id: string | null;
  created_at: Date;
  updated_at: Date;
}

/** The address of replicas that share the network of their host. */
export const LOOPBACK = '127.0.0.1';
/** The columns of a replica of which nothing runs. */
export const NO_PROCESS = { pid: null, pid_started: null, address: LOOPBACK, port: null };
/** The `pid` of an attempt that is being abandoned: a worker that still starts it cannot record its process any more. */
export const ABANDONED = 0;

/** One attempt to run a replica: `restarts` is its fence, so that an earlier attempt cannot change the record. */
export type Attempt = Pick<ReplicaRow, 'id' | 'service_id' | 'deployment_id' | 'host_id' | 'restarts' | 'run_id'>;

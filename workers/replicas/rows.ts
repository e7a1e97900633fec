import type { ReplicaDesire, ReplicaState } from './model.js';

/** A row of the table `replicas`. The migrations explain its columns. */
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
  paused_until: Date | null;
  to_freeze: boolean;
  created_at: Date;
  updated_at: Date;
}

/** The address of replicas that share their host's network. */
export const LOOPBACK = '127.0.0.1';
export const NO_PROCESS = { pid: null, pid_started: null, address: LOOPBACK, port: null };
/** Set as `pid` while an attempt is abandoned, so that the worker that started it cannot record its process. */
export const ABANDONED = 0;

/** One attempt to run a replica. Writes compare `restarts`, so that an earlier attempt cannot change the record. */
export type Attempt = Pick<ReplicaRow, 'id' | 'service_id' | 'deployment_id' | 'host_id' | 'restarts' | 'run_id'>;

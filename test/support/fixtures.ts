import type { ImageManifest } from '../../shared/images/model.js';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import type { ReplicaRow } from '../../workers/replicas/rows.js';
import type { ReleaseSpec } from '../../workers/runtime/runtime-driver.js';

export const MANIFEST: ImageManifest = {
  type: 'process',
  runtime: 'node',
  startCommand: 'node .',
  workingDirectory: '',
  publishDirectory: '',
  environment: {},
};

/** Builds the release of a web service. */
export function releaseSpec(changes: Partial<ReleaseSpec> = {}, manifest: Partial<ImageManifest> = {}): ReleaseSpec {
  return {
    deploymentId: 'deployment',
    serviceId: 'service',
    workspaceId: 'workspace',
    userNumber: 1,
    kind: 'web',
    slug: 'shop',
    environmentId: 'staging',
    configuration: DEFAULT_CONFIGURATION,
    image: { id: 'image', digest: 'd', manifest: { ...MANIFEST, ...manifest } },
    environment: {},
    ...changes,
  };
}

/** Builds the row of a replica that has been ready since this time. */
export function replicaRow(since: Date, changes: Partial<ReplicaRow> = {}): ReplicaRow {
  return {
    id: 'replica',
    service_id: 'service',
    deployment_id: 'deployment',
    host_id: 'swarm',
    generation: 1,
    position: 1,
    desired: 'running',
    state: 'ready',
    address: '10.0.0.1',
    port: 30_000,
    given_port: null,
    pid: null,
    pid_started: null,
    restarts: 0,
    exit_detail: '',
    next_start_at: null,
    log_offset: 0,
    task_id: 'task-1',
    log_since: null,
    ready_at: since,
    started_at: since,
    checked_at: since,
    stopped_at: null,
    failing_since: null,
    health_answer: '',
    replace_at: null,
    replacements: 0,
    surge_failed: false,
    replaces: null,
    run_id: null,
    run_attempt: null,
    volume_id: null,
    paused_until: null,
    to_freeze: false,
    exit_code: null,
    created_at: since,
    updated_at: since,
    ...changes,
  };
}

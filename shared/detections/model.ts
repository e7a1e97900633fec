import type { DueColumns } from '../engine/kind.js';

/** How a deployment would build and run the repository (docs/reference/detection.md). Missing commands are ''. */
export interface Detection {
  /** The branch that was read. It is the default branch if the repository does not have the requested one. */
  branch: string;
  commitSha: string;
  framework: string | null;
  runtime: string;
  /** `static` if files are published and no process runs. */
  kind: 'web' | 'static';
  packageManager: string | null;
  /** Name → version of the framework and of the tools that build it, as specified in the repository. */
  versions: Record<string, string>;
  installCommand: string;
  buildCommand: string;
  startCommand: string;
  publishDirectory: string;
  /** The applications that were found, if several folders could be deployed. */
  applications: { rootDirectory: string; name: string | null; framework: string | null }[];
}

/** Maximum number of unfinished detections per workspace. */
export const MAX_UNDER_WAY = 3;
export const DETECTION_TIMEOUT_MS = 120_000;

export interface DetectionRow extends DueColumns {
  workspace_id: string;
  sealed_repository: Buffer;
  branch: string;
  root_directory: string;
  result: Detection | null;
  error: string | null;
  finished_at: Date | null;
}

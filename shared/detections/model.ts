import type { DueColumns } from '../engine/kind.js';

/**
 * The outcome of a detection: what a deployment of the repository would do (docs/reference/detection.md). '' stands for
 * no command.
 */
export interface Detection {
  /** The branch that was read: the default branch if the repository lacks the requested one. */
  branch: string;
  commitSha: string;
  /** The framework's name; null if none is known. */
  framework: string | null;
  runtime: string;
  /** `static` if files are published and nothing runs. */
  kind: 'web' | 'static';
  packageManager: string | null;
  /** Name → version, of the framework and of the tools that build it, as the repository states them. */
  versions: Record<string, string>;
  installCommand: string;
  buildCommand: string;
  startCommand: string;
  publishDirectory: string;
  /** The applications that were found, if several folders could be deployed. */
  applications: { rootDirectory: string; name: string | null; framework: string | null }[];
}

/** How many detections of one workspace may be in progress. */
export const MAX_UNDER_WAY = 3;
/** A worker stops a detection after this time. */
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

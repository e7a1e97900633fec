import type { DueColumns } from '../engine/kind.js';

/**
 * The outcome of a detection: what a deployment of the repository would do (docs/reference/detection.md). A command is '' if there is none.
 */
export interface Detection {
  /** The branch that was read: the default branch if the repository lacks the one that was asked for. */
  branch: string;
  commitSha: string;
  /** The framework's name; null if none is known. */
  framework: string | null;
  runtime: string;
  /** `static` if files are published and nothing runs. */
  kind: 'web' | 'static';
  packageManager: string | null;
  /** What the repository names → its version: the framework, and the tools that build it. */
  versions: Record<string, string>;
  installCommand: string;
  buildCommand: string;
  startCommand: string;
  publishDirectory: string;
  /** The applications of the repository, if it has several folders to choose from. */
  applications: { rootDirectory: string; name: string | null; framework: string | null }[];
}

/** How many detections of one workspace may be under way. */
export const MAX_UNDER_WAY = 3;
/** A worker gives up after this time. */
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

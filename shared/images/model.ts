import type { SiteRules } from '../rules/model.js';

/** Describes the result of a build, and how to run or serve it. Stored with the image. */
export interface ImageManifest {
  /** `process`: started with `startCommand`. `static`: served from `publishDirectory`. */
  type: 'process' | 'static';
  /** The detected or configured runtime: node, python, go, static … */
  runtime: string;
  /** The image's name for a container engine, pinned to its digest; absent if the image is a folder on the host. */
  reference?: string;
  /** A shell command line, run in `workingDirectory`. '' means the ENTRYPOINT and CMD of `reference`. */
  startCommand: string;
  /** The start command as users see it, without additions such as a search path. Absent if nothing was added. */
  shownCommand?: string;
  /** The Procfile's `release` command, which runs before each release; absent if there is none. */
  releaseCommand?: string;
  /** How to start an image that has its own root file system; absent if the image is a folder on the host. */
  process?: ImageProcess;
  /** Folder in which the start command runs, relative to the image's folder; '' is that folder itself. */
  workingDirectory: string;
  /** The folder from which a static site is served, relative to the image's folder. */
  publishDirectory: string;
  /** The page that a single-page application serves for unknown paths; absent for other sites. */
  fallback?: string;
  /** The URL path under which a static site's pages expect to be served, such as `/shop`; absent if it is `/`. */
  base?: string;
  /** The rules in the static site's files `_redirects` and `_headers`; absent if it has none. */
  siteRules?: SiteRules;
  /** Variables that the runtime needs, such as PYTHONPATH. The service's own variables override them. */
  environment: Record<string, string>;
  /**
   * Folders of the toolchains installed for the image, such as `node-22.1.0`. Tools of the host itself are not listed.
   */
  tools?: string[];
}

export interface ImageProcess {
  /** ENTRYPOINT and CMD; empty if the image has neither. */
  args: string[];
  user: { uid: number; gid: number; groups: number[] };
  /** EXPOSE: the TCP ports on which the image's process listens. */
  ports: number[];
  /** STOPSIGNAL, such as `SIGQUIT`; absent if it is SIGTERM. */
  stopSignal?: string;
  healthCheck?: ImageHealthCheck;
}

/** The image's HEALTHCHECK. The command exits with 0 if the process is healthy. */
export interface ImageHealthCheck {
  args: string[];
  intervalMs: number;
  timeoutMs: number;
  /** Number of consecutive failures after which the process is unhealthy. */
  retries: number;
}

/** Number of images that a service keeps for rollback. */
export const IMAGES_KEPT = 10;

/** The result of a build. `digest` is a SHA-256 of the content. */
export interface BuiltImage {
  digest: string;
  manifest: ImageManifest;
  sizeBytes: number;
}

export interface RegistryRow {
  id: string;
  workspace_id: string;
  name: string;
  server: string;
  username: string;
  sealed_password: Buffer;
  created_at: Date;
}

export interface ImageRow {
  id: string;
  workspace_id: string;
  service_id: string;
  digest: string;
  manifest: ImageManifest;
  size_bytes: number;
  created_at: Date;
  removed_at: Date | null;
}

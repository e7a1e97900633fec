/** Describes what a build produced, and how to run or publish it. Stored with the image. */
export interface ImageManifest {
  /** `process` is started with `startCommand`; `static` is served from `publishDirectory`. */
  type: 'process' | 'static';
  /** The detected or chosen runtime: node, python, go, static … */
  runtime: string;
  /** The name under which a container engine runs the image, pinned by its digest; absent for folders. */
  reference?: string;
  /** A shell command line, run in `workingDirectory`. With a `reference`, '' stands for the image's own command. */
  startCommand: string;
  /** The start command that users see, if `startCommand` was derived from it; absent in older images. */
  shownCommand?: string;
  /** The Procfile's `release` command, which runs before each release; absent if there is none. */
  releaseCommand?: string;
  /** The process of an image with a root file system of its own; absent for built folders. */
  process?: ImageProcess;
  /** The folder of the start command, relative to the image's folder; '' is the image's folder. */
  workingDirectory: string;
  /** The folder that a static site serves, relative to the image's folder. */
  publishDirectory: string;
  /** The page that answers unknown paths of a single-page application; absent for other sites. */
  fallback?: string;
  /** The path below which a static site's pages expect the site (`/shop`); absent if it is `/`. */
  base?: string;
  /** Variables that the runtime needs (PYTHONPATH and the like). The service's own override them. */
  environment: Record<string, string>;
  /**
   * The toolchains with which the image runs, by their folders' names on the host (`node-22.1.0`); absent if it uses
   * the platform's own.
   */
  tools?: string[];
}

export interface ImageProcess {
  /** ENTRYPOINT and CMD; empty if the image has neither. */
  args: string[];
  user: { uid: number; gid: number; groups: number[] };
  /** EXPOSE: the TCP ports on which the image's process may listen. */
  ports: number[];
  /** STOPSIGNAL, such as `SIGQUIT`; absent if it is SIGTERM. */
  stopSignal?: string;
  /** HEALTHCHECK; absent if there is none. */
  healthCheck?: ImageHealthCheck;
}

/** The command that tests an image's process: it exits with 0 if the process works. Times are in milliseconds. */
export interface ImageHealthCheck {
  args: string[];
  intervalMs: number;
  timeoutMs: number;
  /** Consecutive failures after which the process counts as unhealthy. */
  retries: number;
}

/** How many images a service keeps for rollback. */
export const IMAGES_KEPT = 10;

/** The result of a build: the digest of the content (sha256), how to run it, and its size. */
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

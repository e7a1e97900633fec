/** Describes what a build produced and how to run or publish it. Stored with the image. */
export interface ImageManifest {
  /** `process` is started with `startCommand`; `static` is served from `publishDirectory`. */
  type: 'process' | 'static';
  /** The detected or chosen runtime: node, python, go, static … */
  runtime: string;
  /** The name by which a container engine runs it, pinned by its digest; absent for folders. */
  reference?: string;
  /** A shell command line, run in `workingDirectory`. With a `reference`, '' is what the image itself starts. */
  startCommand: string;
  /** The start command as users know it, if `startCommand` was derived from it; absent in older images. */
  shownCommand?: string;
  /** The Procfile's `release` command, which runs before each release; absent if it has none. */
  releaseCommand?: string;
  /** The process of an image with a root file system of its own; absent for built folders. */
  process?: ImageProcess;
  /** Below the image's folder; '' is the folder itself. */
  workingDirectory: string;
  /** Below the image's folder; what a static site serves. */
  publishDirectory: string;
  /** The page that answers unknown paths of a single-page application; absent without one. */
  fallback?: string;
  /** The path at which the pages of a static site expect it (`/shop`); absent if it is `/`. */
  base?: string;
  /** Variables that the runtime needs (PYTHONPATH and the like); the service's own win. */
  environment: Record<string, string>;
  /** The tools that it runs with, as the host keeps them (`node-22.1.0`); absent if the platform's own will do. */
  tools?: string[];
}

/** How an image says that its process is started. */
export interface ImageProcess {
  /** ENTRYPOINT and CMD; empty if it names none. */
  args: string[];
  user: { uid: number; gid: number; groups: number[] };
  /** EXPOSE: the TCP ports on which it may listen. */
  ports: number[];
  /** STOPSIGNAL, such as `SIGQUIT`; absent if it is SIGTERM. */
  stopSignal?: string;
  /** HEALTHCHECK; absent if it has none. */
  healthCheck?: ImageHealthCheck;
}

/** The command that tells whether the process of an image works: it exits with 0 then. Times are in milliseconds. */
export interface ImageHealthCheck {
  args: string[];
  intervalMs: number;
  timeoutMs: number;
  /** Checks in a row that must fail before the process counts as unhealthy. */
  retries: number;
}

/** How many images a service keeps for rollback. */
export const IMAGES_KEPT = 10;

/** An image as a build hands it over: its content's digest (sha256), how to run it, and its size. */
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

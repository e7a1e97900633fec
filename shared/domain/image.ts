/** What a build made, and how to run or publish it. Stored with the image. */
export interface ImageManifest {
  /** `process` is started with `startCommand`; `static` is served from `publishDirectory`. */
  type: 'process' | 'static';
  /** The detected or chosen runtime: node, python, go, static … */
  runtime: string;
  /**
   * The name by which a container engine runs it, pinned by its digest where it is in a registry; absent for images that
   * are folders.
   */
  reference?: string;
  /** A shell command line, run in `workingDirectory`. With a `reference`, '' is what the image itself starts. */
  startCommand: string;
  /** Below the image's folder; '' is the folder itself. */
  workingDirectory: string;
  /** Below the image's folder; what a static site serves. */
  publishDirectory: string;
  /** Variables that the runtime needs (PYTHONPATH and the like); the service's own win. */
  environment: Record<string, string>;
}

/** How many images a service keeps for rollback. */
export const IMAGES_KEPT = 10;

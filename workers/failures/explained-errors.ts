/** An error whose cause a user can fix. Every other error is a fault of the platform and is retried. */
export class ExplainedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** Thrown if a repository cannot be used. The message is for the person who deployed. */
export class SourceError extends ExplainedError {}

/** Thrown if a build fails. The message names the command and the cause, for the person who deployed. */
export class BuildError extends ExplainedError {}

/** Thrown if an image that the build needs cannot be fetched from its registry. */
export class ImageUnavailableError extends BuildError {}

/** Thrown if a release cannot run or does not become healthy. The message is for the person who deployed. */
export class ReleaseError extends ExplainedError {}

/** Thrown if a backup or a restore is impossible for a reason that a user can fix. Retrying at once would not help. */
export class BackupError extends ExplainedError {}

const INSTALL_IMAGES = 'apt-get install runc conmon skopeo umoci buildah';

export const IMAGES_MISSING = `images and Dockerfiles need OCI containers and a worker that is root, which this host does not have: run the worker as root, ${INSTALL_IMAGES}, then restart it; or set RUNTIME=swarm`;

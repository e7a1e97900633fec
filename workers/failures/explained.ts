/** A failure with a cause that a person can act on. Everything else is a fault of the platform and is tried again. */
export class ExplainedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** Why a repository could not be used, for the person who deployed. */
export class SourceError extends ExplainedError {}

/** Why a build failed: the command and the cause, for the person who deployed. */
export class BuildError extends ExplainedError {}

/** Thrown if the image that a build begins with cannot be had from its registry. */
export class ImageUnavailableError extends BuildError {}

/** Why a release did not become healthy. The message is for the person who deployed. */
export class ReleaseError extends ExplainedError {}

/** A backup or a restore cannot be done, for a reason that a person can act on. Trying again at once would not help. */
export class BackupError extends ExplainedError {}

/** The line that installs what images need on Debian and Ubuntu. */
const INSTALL_IMAGES = 'apt-get install runc conmon skopeo umoci buildah';

/** Why a host without OCI containers pulls and builds no images, and what its operator does about it. */
export const IMAGES_MISSING = `images and Dockerfiles need OCI containers and a worker that is root, which this host does not have: run the worker as root, ${INSTALL_IMAGES}, then restart it; or set RUNTIME=swarm`;

import type { RegistryAccount } from '../docker/registry-accounts.js';

/** Why an image could not be pulled, for the user who deployed. */
export class PullError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PullError';
  }
}

/** Explains the error message of a registry, or of its client, about an image. */
export function explainPull(name: string, message: string, account: RegistryAccount | undefined): PullError {
  if (
    /unauthorized|authentication required|no basic auth|access denied|denied:|forbidden|incorrect username/i.test(
      message,
    )
  ) {
    return new PullError(
      account === undefined
        ? `${name} does not exist or needs credentials: name a registry of the workspace in registryId (${message})`
        : `${name} is refused to "${account.username}" at ${account.serveraddress}: check the registry that registryId names (${message})`,
    );
  }
  if (/no image found in (?:manifest list|image index)|no match for platform/i.test(message)) {
    return new PullError(`${name} has no image for linux on ${process.arch}; name one that has (${message})`);
  }
  if (/manifest unknown|not found|no such image|name unknown/i.test(message)) {
    return new PullError(`${name} does not exist (${message})`);
  }
  return new PullError(`${name} cannot be pulled from its registry: ${message}; deploy again later`);
}

import { isMasked, maskedRepository } from '../domain/source.js';
import { AppError, errorMessage, invalidRequest } from '../errors.js';
import { type Keyring, SealError } from '../secrets/keyring.js';

/** A repository's address as it is stored: as people are shown it, and whole and sealed where it holds a secret. */
export interface StoredAddress {
  repository: string;
  sealed: Buffer | null;
}

export function serviceAddressContext(serviceId: string): string {
  return `repository:${serviceId}`;
}

export function deploymentAddressContext(deploymentId: string): string {
  return `deployment-repository:${deploymentId}`;
}

/** Throws invalid_request for an address that was shown, and whose secret nobody knows. */
export function sealAddress(keyring: Keyring, address: string, context: string): StoredAddress {
  if (isMasked(address)) {
    throw invalidRequest('/configuration/repository', 'has asterisks in the place of its password');
  }
  const repository = maskedRepository(address);
  return { repository, sealed: repository === address ? null : keyring.seal(address, context) };
}

/** A sealed address for another record. Throws source_invalid where it does not open. */
export function resealAddress(keyring: Keyring, sealed: Buffer | null, from: string, to: string): Buffer | null {
  if (sealed === null) return null;
  try {
    return keyring.seal(keyring.open(sealed, from), to);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    const message = `its password cannot be opened, set it again: ${errorMessage(error)}`;
    throw new AppError('source_invalid', undefined, [{ path: 'configuration.repository', message }]);
  }
}

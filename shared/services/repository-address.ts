import { AppError, errorMessage, invalidRequest } from '../core/error-registry.js';
import { type Keyring, SealError } from '../secrets/keyring.js';
import { openFrom, SEALED, type SealedColumn, sealIn } from '../secrets/sealed-columns.js';
import { addressProblem, isMasked, maskedRepository } from './service-source.js';

/** A repository address as stored: masked text, and the whole address sealed if it contains a secret. */
export interface StoredAddress {
  repository: string;
  sealed: Buffer | null;
}

const PATH = '/configuration/repository';

/**
 * Seals a service's repository address; '' removes it. Throws invalid_request if it is not a valid address. Rejects a
 * masked address too, because its secret part is unknown.
 */
export function sealAddress(keyring: Keyring, address: string, serviceId: string): StoredAddress {
  const problem = address === '' ? null : addressProblem(address);
  if (problem !== null) throw invalidRequest(PATH, problem);
  if (isMasked(address)) throw invalidRequest(PATH, 'has asterisks in the place of its secret part');
  const repository = maskedRepository(address);
  return { repository, sealed: repository === address ? null : sealIn(keyring, SEALED.repository, serviceId, address) };
}

interface AddressRow {
  id: string;
  sealed_repository: Buffer | null;
}

/**
 * Seals a service's repository address again for another service; null if it has none. Throws source_invalid if it
 * cannot be unsealed.
 */
export function copyAddress(keyring: Keyring, service: AddressRow, serviceId: string): Buffer | null {
  return sealAgain(keyring, SEALED.repository, service, SEALED.repository, serviceId);
}

/**
 * Seals the repository address of a service or deployment again for a deployment. Throws source_invalid if it cannot be
 * unsealed.
 */
export function resealAddress(
  keyring: Keyring,
  column: SealedColumn,
  row: AddressRow,
  deploymentId: string,
): Buffer | null {
  return sealAgain(keyring, column, row, SEALED.deploymentRepository, deploymentId);
}

function sealAgain(
  keyring: Keyring,
  from: SealedColumn,
  { id, sealed_repository: sealed }: AddressRow,
  to: SealedColumn,
  newId: string,
): Buffer | null {
  if (sealed === null) return null;
  try {
    return sealIn(keyring, to, newId, openFrom(keyring, from, id, sealed));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    const message = `its secret part cannot be opened, set it again: ${errorMessage(error)}`;
    throw new AppError('source_invalid', undefined, [{ path: 'configuration.repository', message }]);
  }
}

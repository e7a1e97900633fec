import { AppError, errorMessage, invalidRequest } from '../core/error-registry.js';
import { type Keyring, SealError } from '../secrets/keyring.js';
import { openFrom, SEALED, type SealedColumn, sealIn } from '../secrets/sealed-columns.js';
import { addressProblem, isMasked, maskedRepository } from './service-source.js';

/** `repository` is masked. `sealed` is the whole address, if it contains a secret. */
export interface StoredAddress {
  repository: string;
  sealed: Buffer | null;
}

const PATH = '/configuration/repository';

/** Seals a service's repository address; '' removes it. Throws invalid_request if it is invalid or masked. */
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
 * Seals the repository address of a service or deployment again, for another service or deployment. Returns null if the
 * address has no secret part. Throws source_invalid if the address cannot be unsealed.
 */
export function resealAddress(
  keyring: Keyring,
  { from, row, to, id }: { from: SealedColumn; row: AddressRow; to: SealedColumn; id: string },
): Buffer | null {
  const { sealed_repository: sealed } = row;
  if (sealed === null) return null;
  try {
    return sealIn(keyring, to, id, openFrom(keyring, from, row.id, sealed));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    const message = `its secret part cannot be opened, set it again: ${errorMessage(error)}`;
    throw new AppError('source_invalid', undefined, [{ path: 'configuration.repository', message }]);
  }
}

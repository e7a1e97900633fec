import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../core/database/database-client.js';
import { AppError, invalidRequest } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { SEALED, sealIn } from '../secrets/sealed-columns.js';
import { MAX_VARIABLES, VALUE_BYTES, VARIABLES_BYTES, type VariableContent, type VariableScope } from './model.js';
import {
  findReferenceTarget,
  findVariableKey,
  insertVariable,
  type StoredContent,
  sizeOfVariables,
  updateVariable as updateRow,
  type VariableOwner,
  type VariableView,
} from './store.js';

export interface VariableInput {
  workspaceId: string;
  owner: VariableOwner;
  content: VariableContent;
  /** If absent, a new variable gets the scope `all`, and an existing variable keeps its scope. */
  scope?: VariableScope | undefined;
  /** Path of the variable in the request body, for error details. */
  at?: string;
  /** Throws forbidden if the caller may not read the secrets of the service to which the variable refers. */
  authorize: (facts: { protectedEnvironment: boolean }) => void;
}

/**
 * Creates a variable and seals its value. Throws conflict if the key is taken or the owner has too many variables,
 * payload_too_large if its variables are too large in total, and errors of `storedContent`.
 */
export async function createVariable(
  trx: Transaction,
  deps: Pick<CommandDeps, 'keyring'>,
  input: VariableInput & { key: string },
): Promise<VariableView> {
  const id = uuidv7();
  const { count } = await assertRoom(trx, id, input.key, input);
  if (count >= MAX_VARIABLES) throw tooMany();
  const content = await storedContent(trx, deps, id, input);
  const { workspaceId: workspace_id, key, scope = 'all' } = input;
  const variable = { id, workspace_id, key, scope, ...content };
  const row = await insertVariable(trx, input.owner, variable);
  if (!row) throw new AppError('conflict', `The variable ${input.key} exists already; change it with PATCH`);
  return row;
}

/** Replaces a variable's value or reference. Throws not_found, invalid_request, payload_too_large. */
export async function updateVariable(
  trx: Transaction,
  deps: Pick<CommandDeps, 'keyring'>,
  input: VariableInput & { id: string },
): Promise<VariableView> {
  const key = await findVariableKey(trx, input.owner, input.id);
  if (key === undefined) throw new AppError('not_found');
  await assertRoom(trx, input.id, key, input);
  const content = await storedContent(trx, deps, input.id, input);
  const row = await updateRow(trx, input.owner, input.id, { ...content, scope: input.scope });
  if (!row) throw new AppError('not_found');
  return row;
}

/** The owner must be locked. Throws payload_too_large if the owner's variables are too large in total. */
async function assertRoom(
  trx: Transaction,
  id: string,
  key: string,
  { owner, content, at = '' }: VariableInput,
): Promise<{ count: number }> {
  const { count, bytes } = await sizeOfVariables(trx, owner, id);
  const added = Buffer.byteLength(key) + ('value' in content ? Buffer.byteLength(content.value) : 0);
  if (bytes + added <= VARIABLES_BYTES) return { count };
  throw tooLarge(owner, bytes + added, `${at}/value`);
}

export function tooMany(): AppError {
  return new AppError('conflict', `${MAX_VARIABLES} variables are the most there can be`);
}

/** Creates a payload_too_large error. `path` is the value's path in the request body. */
export function tooLarge(owner: VariableOwner, bytes: number, path: string): AppError {
  const message =
    `takes the variables of this ${'serviceId' in owner ? 'service' : 'group'} to ${bytes} bytes, keys included; ` +
    `${VARIABLES_BYTES} are allowed: shorten or delete some, or put large contents into the repository`;
  return new AppError('payload_too_large', `The value ${message}`, [{ path, message }]);
}

/** Returns the columns for a variable's value or reference. Throws invalid_request, and errors of `authorize`. */
export async function storedContent(
  trx: Transaction,
  { keyring }: Pick<CommandDeps, 'keyring'>,
  id: string,
  { workspaceId, owner, content, at = '', authorize }: VariableInput,
): Promise<StoredContent> {
  if ('value' in content) {
    if (Buffer.byteLength(content.value) > VALUE_BYTES)
      throw invalidRequest(`${at}/value`, `must not exceed ${VALUE_BYTES} bytes`);
    const sealed = sealIn(keyring, SEALED.variable, id, content.value);
    return { sealed, reference_service_id: null, reference_key: null };
  }
  const { serviceId, key } = content.reference;
  const provider = await findReferenceTarget(trx, workspaceId, serviceId);
  if (!provider) throw invalidRequest(`${at}/reference/serviceId`, 'is not a service of this workspace');
  if ('serviceId' in owner && owner.serviceId === provider.id) {
    throw invalidRequest(`${at}/reference/serviceId`, 'is the service itself');
  }
  authorize({ protectedEnvironment: provider.environment_protected });
  return { sealed: null, reference_service_id: provider.id, reference_key: key };
}

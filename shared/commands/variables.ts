import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../db/client.js';
import {
  countVariables,
  findReferable,
  insertVariable,
  type StoredContent,
  updateVariable as updateRow,
  type VariableOwner,
  type VariableView,
} from '../db/variables.js';
import { MOST_VARIABLES, VALUE_BYTES, type VariableContent } from '../domain/variable.js';
import { AppError, invalidRequest } from '../errors.js';
import type { CommandDeps } from './deps.js';

export interface VariableInput {
  workspaceId: string;
  owner: VariableOwner;
  content: VariableContent;
  /** Where in the request's body the content stands, for the details of a refusal. */
  at?: string;
  /** Asked before a reference into a protected environment is stored: it lends that service's secrets. */
  authorize: (facts: { protectedEnvironment: boolean }) => void;
}

/** Stores a variable, its value sealed. Throws conflict where the key is taken, invalid_request. */
export async function createVariable(
  trx: Transaction,
  deps: Pick<CommandDeps, 'keyring'>,
  input: VariableInput & { key: string },
): Promise<VariableView> {
  if ((await countVariables(trx, input.owner)) >= MOST_VARIABLES) {
    throw new AppError('conflict', `There are ${MOST_VARIABLES} variables already, which is the most there can be`);
  }
  const id = uuidv7();
  const content = await store(trx, deps, id, input);
  const variable = { id, workspace_id: input.workspaceId, key: input.key, ...content };
  const row = await insertVariable(trx, input.owner, variable);
  if (!row) throw new AppError('conflict', `The variable ${input.key} exists already; change it with PATCH`);
  return row;
}

/** Replaces what a variable holds. Throws not_found, invalid_request. */
export async function updateVariable(
  trx: Transaction,
  deps: Pick<CommandDeps, 'keyring'>,
  input: VariableInput & { id: string },
): Promise<VariableView> {
  const row = await updateRow(trx, input.owner, input.id, await store(trx, deps, input.id, input));
  if (!row) throw new AppError('not_found');
  return row;
}

async function store(
  trx: Transaction,
  { keyring }: Pick<CommandDeps, 'keyring'>,
  id: string,
  { workspaceId, owner, content, at = '', authorize }: VariableInput,
): Promise<StoredContent> {
  if ('value' in content) {
    if (Buffer.byteLength(content.value) > VALUE_BYTES)
      throw invalidRequest(`${at}/value`, `must not exceed ${VALUE_BYTES} bytes`);
    const sealed = keyring.seal(content.value, `variable:${id}`);
    return { sealed, reference_service_id: null, reference_key: null };
  }
  const { serviceId, key } = content.reference;
  const provider = await findReferable(trx, workspaceId, serviceId);
  if (!provider) throw invalidRequest(`${at}/reference/serviceId`, 'is no service of this workspace');
  if ('serviceId' in owner && owner.serviceId === provider.id) {
    throw invalidRequest(`${at}/reference/serviceId`, 'is the service itself');
  }
  authorize({ protectedEnvironment: provider.environment_protected });
  return { sealed: null, reference_service_id: provider.id, reference_key: key };
}

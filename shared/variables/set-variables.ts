import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../core/database/database-client.js';
import { invalidRequest } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { storedContent, tooLarge, tooMany, type VariableInput } from './commands.js';
import { MAX_VARIABLES, VARIABLES_BYTES, type VariableContent, type VariableScope } from './model.js';
import { deleteVariablesByKey, type NewVariable, sizesOfVariables, upsertVariables } from './store.js';

export interface SetVariablesInput extends Omit<VariableInput, 'content' | 'scope' | 'at'> {
  set: readonly { key: string; content: VariableContent; scope?: VariableScope | undefined }[];
  unset: readonly string[];
}

/** Sets and deletes variables of a locked owner. Throws `invalid_request`, `conflict` or `payload_too_large`. */
export async function setVariables(
  trx: Transaction,
  deps: Pick<CommandDeps, 'keyring'>,
  { set, unset, ...common }: SetVariablesInput,
): Promise<void> {
  assertNamedOnce(set, unset);
  const { workspaceId, owner } = common;
  const gone = new Set(unset);
  const left = new Map(
    (await sizesOfVariables(trx, owner)).flatMap((row) => (gone.has(row.key) ? [] : [[row.key, row]])),
  );
  const rows: NewVariable[] = [];
  for (const [i, { key, content, scope: wanted }] of set.entries()) {
    const id = left.get(key)?.id ?? uuidv7();
    const scope = wanted ?? left.get(key)?.scope ?? 'all';
    const stored = await storedContent(trx, deps, id, { ...common, content, at: `/set/${i}` });
    left.set(key, { id, key, scope, bytes: bytesOf(key, content) });
    rows.push({ id, workspace_id: workspaceId, key, scope, ...stored });
  }
  if (left.size > MAX_VARIABLES) throw tooMany();
  const bytes = [...left.values()].reduce((sum, each) => sum + each.bytes, 0);
  if (set.length > 0 && bytes > VARIABLES_BYTES) throw tooLarge(owner, bytes, '/set');
  await deleteVariablesByKey(trx, owner, unset);
  await upsertVariables(trx, owner, rows);
}

function assertNamedOnce(set: SetVariablesInput['set'], unset: readonly string[]): void {
  const seen = new Set<string>(unset);
  for (const [i, { key }] of set.entries()) {
    if (seen.has(key)) throw invalidRequest(`/set/${i}/key`, 'is named more than once in this request');
    seen.add(key);
  }
}

function bytesOf(key: string, content: VariableContent): number {
  return Buffer.byteLength(key) + ('value' in content ? Buffer.byteLength(content.value) : 0);
}

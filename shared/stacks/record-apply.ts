import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import type { Keyring } from '../secrets/keyring.js';
import { SEALED, sealIn } from '../secrets/sealed-columns.js';
import type { StackRow } from './model.js';
import type { PlanRequest } from './plan-document.js';
import { hasOpenApply, insertApply, type NewApply } from './store.js';

export interface Asked {
  actor: string;
  authorize: PlanRequest['authorize'];
  /** Throws if the queue engine is unavailable. */
  needEngine: () => void;
}

interface NewRecord extends Pick<NewApply, 'together' | 'rollback_of' | 'plan' | 'steps'> {
  stack: StackRow;
  asked: Asked;
}

/** Throws apply_running if an apply of the stack is not finished. */
export async function assertIdle(trx: Transaction, stack: StackRow | undefined): Promise<void> {
  if (stack !== undefined && (await hasOpenApply(trx, stack.id))) throw new AppError('apply_running');
}

/**
 * Stores an apply with its sealed steps, and returns its id. An apply without steps succeeds immediately. Throws errors
 * of `needEngine`.
 */
export async function recordApply(
  trx: Transaction,
  keyring: Keyring,
  { stack, asked, ...apply }: NewRecord,
): Promise<string> {
  const { steps } = apply;
  if (steps.length > 0) asked.needEngine();
  const id = uuidv7();
  await insertApply(trx, {
    id,
    workspace_id: stack.workspace_id,
    stack_id: stack.id,
    actor: asked.actor,
    reads_protected: permitsProtected(asked.authorize),
    sealed_steps: steps.length === 0 ? null : sealIn(keyring, SEALED.stackSteps, id, JSON.stringify(steps)),
    ...apply,
  });
  return id;
}

/** Returns true if the caller may change protected environments, and thus read their variables. */
export function permitsProtected(authorize: PlanRequest['authorize']): boolean {
  try {
    authorize({ protectedEnvironment: true });
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

import type { VariableState } from './environment-state.js';
import type { Step, StepContent, VariablesOwner } from './model.js';
import { type Change, type FieldChange, fieldChange, HIDDEN } from './plan-model.js';
import type { Content, VariableWish } from './wish.js';

export interface ServiceNames {
  /** Returns the id of a service; null if the apply creates it, and undefined if there is none. */
  idOf(name: string): string | null | undefined;
  /** Returns the service's name; its id if neither the document nor the environment names it. */
  nameOf(id: string): string;
  isOwn(name: string): boolean;
}

export interface VariablesPlan {
  changes: Change[];
  step: Step | null;
  secrets: string[];
  /** Keys of changed variables, except those that only previews use. Services with these variables must be deployed. */
  changedKeys: string[];
}

/** Plans the variables of a service or group. `values` contains the values of secrets, by `name.KEY`. */
export function planVariables(
  name: string,
  owner: VariablesOwner,
  wishes: readonly VariableWish[],
  states: readonly VariableState[],
  { names, values }: { names: ServiceNames; values: Readonly<Record<string, string>> },
): VariablesPlan {
  const existing = new Map(states.map((state) => [state.key, state]));
  const plan: VariablesPlan = { changes: [], step: null, secrets: [], changedKeys: [] };
  const set: Extract<Step, { op: 'variables.set' }>['set'] = [];
  for (const wish of wishes) {
    const { key, scope } = wish;
    const state = existing.get(key) ?? null;
    const full = `${name}.${key}`;
    const given = Object.hasOwn(values, full) ? values[full] : undefined;
    if ('secret' in wish.content && given === undefined && isSetAgain(state)) plan.secrets.push(full);
    const content = contentOf(wish.content, state, given, names);
    const fields = fieldsOf(wish, state, content, names);
    if (fields.length === 0) continue;
    plan.changes.push({ action: state === null ? 'create' : 'update', kind: 'variable', name: full, fields });
    if (scope !== 'preview' || (state !== null && state.scope !== 'preview')) plan.changedKeys.push(key);
    set.push({ key, scope, content });
  }
  const wanted = new Set(wishes.map(({ key }) => key));
  const gone = states.filter(({ key }) => !wanted.has(key));
  for (const { key, scope } of gone) {
    plan.changes.push({ action: 'delete', kind: 'variable', name: `${name}.${key}`, fields: [] });
    if (scope !== 'preview') plan.changedKeys.push(key);
  }
  if (set.length + gone.length > 0) {
    plan.step = { op: 'variables.set', owner, set, unset: gone.map(({ key }) => key) };
  }
  return plan;
}

function isSetAgain(state: VariableState | null): boolean {
  return state === null || state.value === null;
}

/** A secret variable gets the value `given`. Without it, a generated or secret variable keeps an existing value. */
function contentOf(
  content: Content,
  state: VariableState | null,
  given: string | undefined,
  names: ServiceNames,
): StepContent {
  if ('value' in content) return content;
  if ('reference' in content) {
    const { reference } = content;
    if ('serviceId' in reference || names.isOwn(reference.service)) return { reference };
    return { reference: { serviceId: names.idOf(reference.service) ?? '', key: reference.key } };
  }
  if (given !== undefined && 'secret' in content) return { value: given };
  if (state !== null && state.value !== null) return { value: state.value };
  return 'generate' in content ? content : { value: '' };
}

function fieldsOf(
  { scope }: VariableWish,
  state: VariableState | null,
  content: StepContent,
  names: ServiceNames,
): FieldChange[] {
  const wasValue = state !== null && state.reference === null;
  const before = state?.reference ?? null;
  const shown = (reference: { serviceId: string; key: string } | null) =>
    reference && { service: names.nameOf(reference.serviceId), key: reference.key };
  const after = 'reference' in content ? content.reference : null;
  const named = after && 'serviceId' in after ? shown(after) : after;
  const isEqual = 'value' in content && state?.value === content.value;
  return [
    ...(after !== null || isEqual
      ? fieldChange('/value', wasValue && !isEqual ? HIDDEN : null, null)
      : [{ path: '/value', from: wasValue ? HIDDEN : null, to: HIDDEN }]),
    ...fieldChange('/reference', shown(before), isSame(before, after, names) ? shown(before) : named),
    ...(state === null && scope === 'all' ? [] : fieldChange('/scope', state?.scope ?? null, scope)),
  ];
}

function isSame(
  before: { serviceId: string; key: string } | null,
  after: Extract<StepContent, { reference: unknown }>['reference'] | null,
  names: ServiceNames,
): boolean {
  if (before === null || after === null) return before === after;
  const id = 'serviceId' in after ? after.serviceId.toLowerCase() : names.idOf(after.service);
  return before.serviceId === id && before.key === after.key;
}

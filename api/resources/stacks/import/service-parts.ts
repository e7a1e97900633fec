import { PLAN_IDS, PLANS } from '../../../../shared/services/plan-catalog.js';
import type { StackDocument, VariableEntry } from '../../../../shared/stacks/document-schema.js';
import { labelOf } from '../../../../shared/stacks/label.js';
import { type ImportContext, type Lost, optional } from './loose.js';

/** Well-known ports of protocols other than HTTP. */
export const NOT_HTTP: ReadonlySet<number> = new Set([
  ...[21, 22, 25, 53, 465, 587, 1025, 1433, 1521, 1883, 3306, 4222, 5432, 5672, 6379, 9042, 9092, 11211, 25565, 27017],
]);

export type Volumes = Record<string, { mountPath: string; sizeGb: number }>;

interface Needs {
  volumes?: Volumes;
  memoryMb?: number;
  cpu?: number;
}

/**
 * Returns the smallest plan that fits; {} if that is the default plan, or if no plan fits. If no plan has enough CPU,
 * the plan fits only the volumes and the memory. Reports what the plan lacks.
 */
export function planFor(at: string, { volumes = {}, memoryMb = 0, cpu = 0 }: Needs, lost: Lost): { plan?: string } {
  const storage = Object.values(volumes).reduce((total, { sizeGb }) => total + sizeGb, 0);
  const [smallest] = PLANS;
  const fits = (each: (typeof PLANS)[number]) => each.storageGb >= storage && each.memoryMb >= memoryMb;
  const plan = PLANS.find((each) => fits(each) && each.cpu >= cpu) ?? PLANS.find(fits);
  if (plan === undefined) lost(at, 'no plan has room for its volumes and its memory: choose the largest one');
  else if (plan.cpu < cpu) lost(at, `no plan has ${cpu} CPU cores: it gets ${plan.id}, which has ${plan.cpu}`);
  return plan === undefined || plan === smallest ? {} : { plan: plan.id };
}

/** Returns the plan with this name. If there is none, reports the name and returns an empty object. */
export function planNamed(at: string, name: string, lost: Lost): { plan?: string } {
  if (PLAN_IDS.some((id) => id === name)) return { plan: name };
  if (name !== '') lost(`${at}.plan`, `${name} is no plan here: choose one`);
  return {};
}

export function volumeName(text: string, taken: readonly string[]): string {
  const label = labelOf(text.slice(-60));
  const base = label === '' ? 'data' : label;
  const number = taken.length + 1;
  // A label never has two hyphens in a row, so the name with two hyphens is always free.
  return [base, `${base}-${number}`].find((name) => !taken.includes(name)) ?? `${base}--${number}`;
}

export function repositoryOf(
  at: string,
  { repository, folder = '' }: { repository: string; folder?: string },
  lost: Lost,
): Record<string, string> {
  if (repository === '') lost(at, 'the address of the repository is not known: set repository');
  return {
    ...(repository === '' ? {} : { repository }),
    ...(folder === '' ? {} : { rootDirectory: folder }),
  };
}

export function nameOf({ repository }: Pick<ImportContext, 'repository'>): string {
  const last = repository.slice(-200).split(/[/:]/).at(-1) ?? '';
  return labelOf(last.replace(/\.git$/, '')) || 'app';
}

export interface Process {
  name: string;
  entry: Record<string, unknown>;
}

/**
 * Builds an application's document. If there are several processes, the variables become a group that all of them use.
 */
export function processDocument(
  name: string,
  processes: readonly Process[],
  variables: Record<string, VariableEntry>,
  databases: Record<string, Record<string, unknown>> = {},
): StackDocument {
  const isShared = processes.length > 1 && Object.keys(variables).length > 0;
  const own = isShared ? { groups: [name] } : optional('variables', variables);
  const services = processes.map((each): [string, object] => [each.name, { ...each.entry, ...own }]);
  return {
    ...optional('services', Object.fromEntries(services)),
    ...optional('databases', databases),
    ...(isShared ? { groups: { [name]: { variables } } } : {}),
  } as StackDocument;
}

/**
 * Converts `512mb`, `1g` or `2Gi` to megabytes; 0 for other text. A value of the type number is in megabytes, a text of
 * digits only is in bytes.
 */
export function megabytesOf(size: unknown): number {
  if (typeof size === 'number') return Number.isFinite(size) ? Math.ceil(size) : 0;
  const [, number = '', unit = ''] =
    /^(\d{1,9}(?:\.\d{1,3})?)\s*([kmgt]?)(?:i?b)?$/i.exec(typeof size === 'string' ? size.slice(0, 32).trim() : '') ??
    [];
  const factors: Readonly<Record<string, number>> = { k: 1 / 1024, m: 1, g: 1024, t: 1024 * 1024, '': 1 / 1024 / 1024 };
  return Math.ceil(Number(number) * (factors[unit.toLowerCase()] ?? 0));
}

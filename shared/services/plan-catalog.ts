import { isDataKind, type ServiceKind } from './model.js';

/** This catalog is the only source of plans, prices, regions, runtimes and service types. */
export interface Plan {
  id: string;
  name: string;
  usd: number;
  ngn: number;
  kinds?: ServiceKind[];
  cpu?: number;
  memoryMb?: number;
  storageGb?: number;
  transferGb?: number;
  /** Per workspace and calendar month (UTC). */
  buildMinutes?: number;
  logDays?: number;
  maxConnections?: number;
  backupRetentionDays?: number;
  /** The maximum number of services of a workspace; unlimited if absent. */
  workspaceLimit?: number;
}

/** The runtime enforces `cpu`, `memoryMb` and `pids`. */
export interface ServicePlan extends Plan {
  cpu: number;
  memoryMb: number;
  logDays: number;
  /** The maximum number of processes and threads per replica. */
  pids: number;
}

const RUNNABLE: ServiceKind[] = ['web', 'static', 'private', 'worker', 'cron'];

export const PLANS = [
  {
    id: 'free',
    name: 'Free',
    usd: 0,
    ngn: 0,
    kinds: RUNNABLE,
    cpu: 0.5,
    memoryMb: 512,
    storageGb: 1,
    transferGb: 10,
    buildMinutes: 3000,
    logDays: 1,
    workspaceLimit: 2500,
    backupRetentionDays: 1,
    pids: 128,
  },
  {
    id: 'starter',
    name: 'Starter',
    usd: 7,
    ngn: 11_000,
    kinds: RUNNABLE,
    cpu: 1,
    memoryMb: 1024,
    storageGb: 5,
    transferGb: 100,
    buildMinutes: 5000,
    logDays: 7,
    backupRetentionDays: 7,
    pids: 256,
  },
  {
    id: 'standard',
    name: 'Standard',
    usd: 25,
    ngn: 39_000,
    kinds: RUNNABLE,
    cpu: 2,
    memoryMb: 2048,
    storageGb: 10,
    transferGb: 250,
    buildMinutes: 10_000,
    logDays: 14,
    backupRetentionDays: 14,
    pids: 512,
  },
  {
    id: 'pro',
    name: 'Pro',
    usd: 85,
    ngn: 132_000,
    kinds: RUNNABLE,
    cpu: 4,
    memoryMb: 4096,
    storageGb: 25,
    transferGb: 500,
    buildMinutes: 20_000,
    logDays: 30,
    backupRetentionDays: 30,
    pids: 1024,
  },
  {
    id: 'pro_plus',
    name: 'Pro Plus',
    usd: 175,
    ngn: 272_000,
    kinds: RUNNABLE,
    cpu: 8,
    memoryMb: 8192,
    storageGb: 50,
    transferGb: 1000,
    buildMinutes: 40_000,
    logDays: 30,
    backupRetentionDays: 30,
    pids: 2048,
  },
] as const satisfies readonly ServicePlan[];

export const PLAN_IDS = PLANS.map((plan) => plan.id);
export type PlanId = (typeof PLAN_IDS)[number];

/** The runtime enforces each of these limits. */
export interface DatabasePlan extends Plan {
  cpu: number;
  memoryMb: number;
  storageGb: number;
  maxConnections: number;
}

const DATABASES: ServiceKind[] = ['postgres', 'redis'];

export const DATABASE_PLANS: readonly DatabasePlan[] = [
  {
    id: 'free',
    name: 'Free',
    usd: 0,
    ngn: 0,
    kinds: DATABASES,
    cpu: 0.25,
    memoryMb: 256,
    storageGb: 1,
    maxConnections: 20,
    backupRetentionDays: 1,
  },
  {
    id: 'starter',
    name: 'Starter',
    usd: 10,
    ngn: 15_500,
    kinds: DATABASES,
    cpu: 0.5,
    memoryMb: 512,
    storageGb: 10,
    maxConnections: 60,
    backupRetentionDays: 7,
  },
  {
    id: 'standard',
    name: 'Standard',
    usd: 45,
    ngn: 70_000,
    kinds: DATABASES,
    cpu: 1,
    memoryMb: 2048,
    storageGb: 50,
    maxConnections: 120,
    backupRetentionDays: 14,
  },
  {
    id: 'pro',
    name: 'Pro',
    usd: 95,
    ngn: 148_000,
    kinds: DATABASES,
    cpu: 2,
    memoryMb: 4096,
    storageGb: 100,
    maxConnections: 250,
    backupRetentionDays: 30,
  },
];

export const REGIONS = [
  { id: 'auto', name: 'Automatic', description: 'The platform chooses where the service runs' },
  { id: 'local', name: 'This installation', description: 'The hosts of this installation' },
] as const;
export const REGION_IDS = REGIONS.map((region) => region.id);

export const RUNTIMES = [
  ...(['auto', 'node', 'python', 'go', 'ruby', 'rust', 'elixir', 'php', 'docker', 'image', 'static'] as const),
] as const;

const TYPES: readonly [id: ServiceKind, name: string, plural: string, description: string][] = [
  ['web', 'Web service', 'Web services', 'A process that answers HTTP at a public URL'],
  ['static', 'Static site', 'Static sites', 'Built files served at a public URL'],
  ['private', 'Private service', 'Private services', 'A process that only other services reach'],
  ['worker', 'Background worker', 'Background workers', 'A process that listens nowhere'],
  ['cron', 'Cron job', 'Cron jobs', 'A command that runs on a schedule'],
  ['postgres', 'PostgreSQL', 'PostgreSQL databases', 'A PostgreSQL database'],
  ['redis', 'Redis', 'Redis instances', 'A Redis instance'],
];
export const SERVICE_TYPES = TYPES.map(([id, name, plural, description]) => {
  return { id, name, plural, description, runtime: id !== 'static' };
});

/** Returns the plan of a database. An id that is no longer in the catalog gives the smallest plan. */
export function databasePlanOf(id: string): DatabasePlan {
  const [smallest] = DATABASE_PLANS;
  if (smallest === undefined) throw new Error('there are no plans for databases');
  return DATABASE_PLANS.find((plan) => plan.id === id) ?? smallest;
}

/** Processes of a database server in addition to one per connection. */
const DATABASE_PIDS = 64;

/** Returns the resource limits for a service's processes. */
export function limitsOf(kind: ServiceKind, planId: string): Pick<ServicePlan, 'cpu' | 'memoryMb' | 'pids'> {
  if (!isDataKind(kind)) return planOf(planId);
  const { cpu, memoryMb, maxConnections } = databasePlanOf(planId);
  return { cpu, memoryMb, pids: maxConnections + DATABASE_PIDS };
}

/** Returns the plan of a service. An id that is no longer in the catalog gives the smallest plan. */
export function planOf(id: string): ServicePlan {
  return PLANS.find((plan) => plan.id === id) ?? PLANS[0];
}

/** Returns `service.estimatedMonthly`: the plan's price times the number of replicas. */
export function estimatedMonthly(
  kind: ServiceKind,
  planId: string,
  replicas: number,
): { usd: number; ngn: number; priced: boolean } {
  const plans: readonly Plan[] = isDataKind(kind) ? DATABASE_PLANS : PLANS;
  const plan = plans.find((p) => p.id === planId);
  if (!plan) return { usd: 0, ngn: 0, priced: false };
  // Static services and databases are charged once.
  const count = kind === 'static' || isDataKind(kind) ? 1 : replicas;
  return { usd: plan.usd * count, ngn: plan.ngn * count, priced: true };
}

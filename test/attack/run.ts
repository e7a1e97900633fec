import { writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Entry } from '../chaos/entries.js';
import { Random } from '../chaos/random.js';
import { cameToRest } from '../chaos/run.js';
import { newTenant, startPlatform } from '../support/platform.js';
import { balance, memoryOf } from './books.js';
import { silentNameServer } from './cases-callers.js';
import { PORTS } from './hostile-applications.js';
import type { HostileCase } from './hostile-case.js';
import { type Behaviour, HostileTenant } from './hostile-tenant.js';
import { OrdinaryMix } from './ordinary-mix.js';
import { OrdinaryTenant } from './ordinary-tenant.js';
import { caseEntries, caseTable, resultOf, runCases } from './run-cases.js';
import { slownessOf } from './work-loop.js';

export interface AttackOptions {
  seed: number;
  minutes: number;
  behaviours: readonly Behaviour[];
  cases: readonly HostileCase[];
  judgesTimes: boolean;
}

export interface AttackResult {
  cases: string;
  entries: Entry[];
  /** Name of a behaviour → how often it was shown. */
  acted: ReadonlyMap<string, number>;
}

const TENANTS = 3;
const ACTING = 2;
const PAUSE_MS = 500;
/** How long ordinary work is measured without an attack. */
const QUIET_MS = 30_000;

/** Runs ordinary tenants alone, then beside hostile ones, and checks what the attacks have done. */
export async function runAttack({
  seed,
  minutes,
  behaviours,
  cases,
  judgesTimes,
}: AttackOptions): Promise<AttackResult> {
  const begun = Date.now();
  const say = (what: string) =>
    process.stderr.write(`${String(Math.round((Date.now() - begun) / 1000)).padStart(4)} s  ${what}\n`);
  const nameServer = await silentNameServer();
  const platform = await startPlatform({
    engine: 'postgres',
    detached: true,
    env: {
      STOP_GRACE_SECONDS: '2',
      RUNTIME_PORTS: `${PORTS.first}-${PORTS.last}`,
      // Simulated callers have different addresses, which this process sends as a proxy would.
      TRUST_PROXY: 'true',
      DNS_SERVERS: nameServer.address,
      PUSH_MAX_MB: '32',
    },
  });
  await stepBack();
  const mix = await OrdinaryMix.begin(platform);
  const ordinary = await OrdinaryTenant.begin(platform, await newTenant(platform, 'ordinary', 'ordinary@example.test'));
  const hostile: HostileTenant[] = [];
  const acted = new Map<string, number>();
  try {
    await ordinary.deploy('quiet');
    const quietFrom = Date.now();
    while (Date.now() - quietFrom < QUIET_MS) await ordinary.deploy('quiet');
    const quiet = mix.since(quietFrom);
    mix.slowness = slownessOf(quiet);
    const before = await memoryOf(platform);
    say('the ordinary tenants are measured; the attack begins');

    const random = new Random(seed);
    for (let i = 0; i < TENANTS; i++) {
      hostile.push(
        new HostileTenant({
          client: await newTenant(platform, `hostile${i}`, `hostile${i}@example.test`),
          random: new Random(random.between(0, 2 ** 31)),
          apiPort: platform.apiPort,
          edgePort: platform.edgePort,
          victim: ordinary.service,
        }),
      );
    }
    const [first, ...others] = hostile;
    if (!first) throw new Error('there is no hostile tenant');
    const results = await runCases({ platform, tenants: [first, ...others], mix }, cases, say);

    const attackedFrom = Date.now();
    const stop = AbortSignal.timeout(behaviours.length === 0 ? 0 : minutes * 60_000);
    // Each tenant shows all behaviours in a random order before it repeats one.
    const attacks = hostile.slice(0, ACTING).map(async (tenant) => {
      let deck: Behaviour[] = [];
      while (!stop.aborted) {
        if (deck.length === 0) deck = [...behaviours];
        const [behaviour] = deck.splice(tenant.random.between(0, deck.length - 1), 1);
        if (!behaviour) break;
        say(behaviour.name);
        acted.set(behaviour.name, (acted.get(behaviour.name) ?? 0) + 1);
        await behaviour.act(tenant, stop).catch((error: unknown) => say(`${behaviour.name}: ${String(error)}`));
        await delay(PAUSE_MS);
      }
    });
    const deploying = (async () => {
      while (!stop.aborted) await ordinary.deploy('attacked');
    })();
    await Promise.all([...attacks, deploying]);
    say('the attack is over');
    await mix.end();
    results.push(resultOf(mix, behaviours.length > 0 ? 'the behaviours' : 'after the cases', attackedFrom));
    await removeServices(hostile);
    await cameToRest(platform);
    say('at rest');
    await ordinary.end();
    const entries = [...caseEntries(results, quiet, judgesTimes), ...(await balance(platform, ordinary, before))];
    return { entries, acted, cases: caseTable(results, quiet) };
  } finally {
    await mix.end();
    await ordinary.end();
    await platform.stop();
    nameServer.close();
    for (const tenant of hostile) await tenant.removeRepositories();
    await ordinary.removeRepository();
  }
}

/** Lowers this process's priority, because real attackers take no processor time from the platform. */
async function stepBack(): Promise<void> {
  const { PRIORITY_LOW } = constants.priority;
  setPriority(PRIORITY_LOW);
  // Linux shares processor time between sessions first, if the kernel has autogroups.
  await writeFile('/proc/self/autogroup', String(PRIORITY_LOW)).catch(() => undefined);
}

/** Deletes services that interrupted behaviours have left. */
async function removeServices(tenants: readonly HostileTenant[]): Promise<void> {
  for (const { client } of tenants) {
    const { services } = await client.expect<{ services: { id: string; name: string }[] }>('GET', '/services');
    for (const { id, name } of services) await client.call('DELETE', `/services/${id}`, { confirm: name });
  }
}

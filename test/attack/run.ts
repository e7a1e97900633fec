import { setTimeout as delay } from 'node:timers/promises';
import { createKey, createWorkspace } from '../../shared/identity/commands.js';
import type { Entry } from '../chaos/entries.js';
import { Random } from '../chaos/random.js';
import { cameToRest } from '../chaos/run.js';
import { ApiClient } from '../support/client.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { balance, memoryOf } from './books.js';
import { PORTS } from './hostile-applications.js';
import { type Behaviour, HostileTenant } from './hostile-tenant.js';
import { OrdinaryTenant } from './ordinary-tenant.js';

export interface AttackOptions {
  seed: number;
  minutes: number;
  behaviours: readonly Behaviour[];
}

export interface AttackResult {
  entries: Entry[];
  /** How often each behaviour was shown. */
  acted: ReadonlyMap<string, number>;
}

const TENANTS = 2;
const QUIET_DEPLOYMENTS = 3;
const PAUSE_MS = 500;

/** Runs ordinary tenants, first alone and then beside hostile ones; when all is over, looks at what the attack has done. */
export async function runAttack({ seed, minutes, behaviours }: AttackOptions): Promise<AttackResult> {
  const begun = Date.now();
  const say = (what: string) =>
    process.stderr.write(`${String(Math.round((Date.now() - begun) / 1000)).padStart(4)} s  ${what}\n`);
  const platform = await startPlatform({
    engine: 'postgres',
    env: { STOP_GRACE_SECONDS: '2', RUNTIME_PORTS: `${PORTS.first}-${PORTS.last}` },
  });
  const ordinary = await OrdinaryTenant.begin(platform, await workspace(platform, 'ordinary'));
  const hostile: HostileTenant[] = [];
  const acted = new Map<string, number>();
  try {
    for (let i = 0; i < QUIET_DEPLOYMENTS; i++) await ordinary.deploy('quiet');
    const before = await memoryOf(platform);
    say('the ordinary tenant is measured; the attack begins');

    const random = new Random(seed);
    const stop = AbortSignal.timeout(minutes * 60_000);
    for (let i = 0; i < TENANTS; i++) {
      hostile.push(
        new HostileTenant({
          client: await workspace(platform, `hostile${i}`),
          random: new Random(random.between(0, 2 ** 31)),
          apiPort: platform.apiPort,
          edgePort: platform.edgePort,
          victim: ordinary.service,
        }),
      );
    }
    // Each tenant shows every behaviour once before one of them again, for as long as there is time.
    const attacks = hostile.map(async (tenant) => {
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
    await removeServices(hostile);
    await cameToRest(platform);
    say('at rest');
    await ordinary.end();
    return { entries: await balance(platform, ordinary, before), acted };
  } finally {
    await ordinary.end();
    await platform.stop();
    for (const tenant of hostile) await tenant.removeRepositories();
    await ordinary.removeRepository();
  }
}

async function workspace({ database: { db }, client }: Platform, name: string): Promise<ApiClient> {
  const email = `${name}@example.test`;
  const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name, owner: email }));
  const key = { workspaceId: workspace.id, email, scope: 'write' as const, name: 'attack', expiresAt: null };
  return new ApiClient(client.baseUrl, workspace.id, (await createKey(db, key)).key);
}

/** A behaviour that was cut off may have left its service. */
async function removeServices(tenants: readonly HostileTenant[]): Promise<void> {
  for (const { client } of tenants) {
    const { services } = await client.expect<{ services: { id: string; name: string }[] }>('GET', '/services');
    for (const { id, name } of services) await client.call('DELETE', `/services/${id}`, { confirm: name });
  }
}

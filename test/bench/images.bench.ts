import { act, createService, deploy, type Service } from '../support/deployments.js';
import { NO_REGISTRY } from '../support/docker-registry.js';
import { ImageFixture } from '../support/image-fixture.js';
import type { EngineName, Platform } from '../support/platform.js';
import { NO_IMAGES } from '../support/test-image.js';
import { median, print } from './measure.js';
import { quiet } from './served.js';
import { record } from './table.js';

const ROUNDS = 12;
const REGISTRY_PORT = 5078;
const PROGRAM = 'exec busybox httpd -f -p "$PORT"\n';

/** Measures starts of a replica whose root is an image, in turns with the same program on the host's root. */
export async function benchImages(engine: EngineName): Promise<void> {
  const missing = NO_IMAGES || NO_REGISTRY;
  if (missing !== '') return print(`  SKIP: ${missing}`);
  const fixture = await ImageFixture.create(REGISTRY_PORT, engine);
  const { platform } = fixture;
  try {
    const config = ['--config.env', 'PATH=/bin', '--config.cmd', 'sh', '--config.cmd', '/start.sh'];
    const image = await fixture.push('web:1', { files: { 'start.sh': PROGRAM }, config });
    const { url } = await platform.repositoryOf({ 'start.sh': PROGRAM });
    const services = {
      image: await liveService(platform, 'image', { sourceType: 'image', image }),
      host: await liveService(platform, 'host', { repository: url }),
    };
    const times: Record<keyof typeof services, number[]> = { image: [], host: [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of ['host', 'image'] as const) times[name].push(await restarted(platform, services[name]));
    }
    const above = median(times.image.map((time, i) => time - (times.host[i] ?? 0)));
    record('image', above, `host's root ${median(times.host)} ms`);
    print(`  replica requested → ready: host's root ${median(times.host)} ms, an image ${median(times.image)} ms`);
  } finally {
    await fixture.destroy();
  }
}

async function liveService(platform: Platform, name: string, configuration: object): Promise<Service> {
  const service = await createService(platform.client, { name, configuration });
  await deploy(platform.client, service.id);
  await quiet(platform);
  return service;
}

async function restarted({ client, database }: Platform, { id }: Service): Promise<number> {
  const status = await act(client, id, 'restart');
  if (status !== 'succeeded') throw new Error(`the restart ${status}`);
  const replica = await database.db('replicas').where({ service_id: id, desired: 'running' }).first();
  return replica.ready_at.getTime() - replica.created_at.getTime();
}

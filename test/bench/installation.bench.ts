import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { npmApp, type TextFiles } from '../support/apps.js';
import { createService, type Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import type { TestRepository } from '../support/repositories.js';
import { applicationByHand, PAUSE_MS } from './by-hand.js';
import { measure } from './measure.js';
import { quiet, report, served } from './served.js';

const ROUNDS = 5;
/** Longer than the platform keeps processes ready for the next deployment. */
const IDLE_MS = 11_000;

const VERSIONS = [
  ['2.1.3', 'sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA=='],
  ['2.1.2', 'sha512-sGkPx+VjMtmA6MX27oA4FBFELFCZZ4S4XqeGOXCv68tT+jb3vk/RyaKWP0PTKyWtmLSM0b+adUTEvbs1PEaH2w=='],
] as const;

interface Rounds {
  platform: Platform;
  repository: TestRepository;
}

/** Measures deployments that install npm packages. By hand, npm's cache is as full as on the platform. */
export async function benchInstallation(rounds: Rounds): Promise<void> {
  await firstDeployments(rounds);
  await changedLocks(rounds);
}

/** Each deployment is the first of its service, on a platform that was idle for a while. Both npm caches are empty. */
async function firstDeployments({ platform, repository }: Rounds): Promise<void> {
  const hand: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const word = `first ${round}.`;
    await repository.commit(word, npmApp(word));
    const service = await newService(platform, repository, `first-${round}`);
    const byHand = await withCache((cache) => applicationByHand(repository.url, cache));
    await delay(IDLE_MS);
    const deployed = await measure(() => served(platform, service, word, PAUSE_MS));
    await quiet(platform);
    // The worker builds for the first time in the first round.
    if (round === 0) continue;
    hand.push(byHand);
    ours.push(deployed);
  }
  report('first', 'npm application, first deployment, empty caches', hand, ours);
}

/** Each deployment has a new lock file. Both npm caches contain its packages. */
async function changedLocks({ platform, repository }: Rounds): Promise<void> {
  const service = await newService(platform, repository, 'changed');
  const hand: number[] = [];
  const ours: number[] = [];
  await withCache(async (cache) => {
    for (let round = 0; round < ROUNDS + VERSIONS.length; round++) {
      const word = `lock ${round}.`;
      await repository.commit(word, withVersion(npmApp(word), round));
      const byHand = await applicationByHand(repository.url, cache);
      const deployed = await measure(() => served(platform, service, word, PAUSE_MS));
      await quiet(platform);
      if (round < VERSIONS.length) continue;
      hand.push(byHand);
      ours.push(deployed);
    }
  });
  report('changedLock', 'npm application, another lock file, warm caches', hand, ours);
}

function newService({ client }: Platform, { url }: TestRepository, name: string): Promise<Service> {
  return createService(client, { name, configuration: { repository: url } });
}

async function withCache<T>(work: (cache: string) => Promise<T>): Promise<T> {
  const cache = await mkdtemp(join(tmpdir(), 'ranvier-bench-npm-'));
  try {
    return await work(cache);
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
}

function withVersion(files: TextFiles, round: number): TextFiles {
  const [from, to] = [VERSIONS[0], VERSIONS[round % VERSIONS.length] ?? VERSIONS[0]];
  const changed = (text: string) => text.replaceAll(from[0], to[0]).replaceAll(from[1], to[1]);
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [name, changed(text)]));
}

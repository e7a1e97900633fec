import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { nodeServer } from './apps.js';
import { deploy, type Service } from './deployments.js';
import type { Platform } from './platform.js';

const PROBE_INTERVAL_MS = 100;
/** Time limit of a request. It is long, because a busy machine may delay an answer by seconds. */
const PROBE_TIMEOUT_MS = 15_000;

/** A service of another tenant, to which requests are sent ten times a second during an attack. */
export class Victim {
  readonly service: Service;
  readonly #platform: Platform;

  private constructor(platform: Platform, service: Service) {
    this.#platform = platform;
    this.service = service;
  }

  static async deploy(platform: Platform): Promise<Victim> {
    const { service } = await platform.serviceOf('victim', nodeServer('victim'));
    await deploy(platform.client, service.id);
    return new Victim(platform, service);
  }

  /** Runs the attack. Fails if a request to the victim fails meanwhile, or if a process of the platform has ended. */
  async duringAttack(attack: () => Promise<unknown>): Promise<void> {
    const failures: string[] = [];
    const pending: Promise<void>[] = [];
    let attacking = true;
    const probing = (async () => {
      while (attacking) {
        pending.push(this.#probe(failures));
        await delay(PROBE_INTERVAL_MS);
      }
    })();
    await attack().finally(() => {
      attacking = false;
    });
    await probing;
    await Promise.all(pending);
    expect(failures, `failed visits of ${pending.length}`).to.deep.equal([]);
    const ended = this.#platform.processes.filter((process) => process.ended).map((process) => process.name);
    expect(ended, 'processes of the platform that ended').to.deep.equal([]);
  }

  async #probe(failures: string[]): Promise<void> {
    const startedAt = Date.now();
    const late = delay(PROBE_TIMEOUT_MS, undefined, { ref: false }).then(() => {
      throw new Error(`no answer within ${PROBE_TIMEOUT_MS} ms`);
    });
    try {
      const answer = await Promise.race([this.#platform.visit(this.service), late]);
      if (answer.status !== 200 || answer.body !== 'victim') failures.push(`${answer.status} ${answer.body}`);
    } catch (error) {
      failures.push(`${String(error)} after ${Date.now() - startedAt} ms`);
    }
  }
}

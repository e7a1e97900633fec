import { setTimeout as delay } from 'node:timers/promises';
import { rowsOf } from '../../shared/core/database/database-client.js';
import { type ApiClient, visit } from '../support/client.js';
import type { Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import type { Entry } from './entries.js';
import { insist, type Promises } from './load.js';

const NAMES = ['one', 'two', 'three'];
const STACK = 'together';
const POLL_MS = 500;
const ENDS_MS = 900_000;
/** Even in the shortest run, an apply succeeds, one fails, and the last one succeeds. */
const MIN_ROUNDS = 3;

interface Apply {
  id: string;
  status: string;
  error: string;
  finishedAt: string | null;
}

interface TogetherDeps {
  client: ApiClient;
  platform: Platform;
  promises: Promises;
  configuration: object;
}

/** Services that go live together while faults occur. In each third round one of them is unhealthy. */
export class Together {
  readonly #deps: TogetherDeps;
  readonly #environmentId: string;
  readonly #wrong: string[] = [];
  #rounds = 0;

  private constructor(deps: TogetherDeps, environmentId: string) {
    this.#deps = deps;
    this.#environmentId = environmentId;
  }

  static async start(deps: TogetherDeps): Promise<Together> {
    const { project } = await deps.client.expect<{ project: { environments: { id: string }[] } }>('POST', '/projects', {
      name: 'Together',
      color: 'blue',
    });
    return new Together(deps, project.environments[0]?.id ?? '');
  }

  async run(stop: AbortSignal): Promise<void> {
    for (; this.#rounds < MIN_ROUNDS || !stop.aborted || this.#isBroken(this.#rounds - 1); this.#rounds++) {
      const apply = await this.#apply(this.#rounds);
      const expected = this.#isBroken(this.#rounds) ? 'failed' : 'succeeded';
      if (apply.status !== expected) this.#wrong.push(`round ${this.#rounds} ${apply.status}: ${apply.error}`);
    }
  }

  async books(): Promise<Entry[]> {
    const { db } = this.#deps.platform.database;
    const { services } = await this.#deps.client.expect<{ services: (Service & { environmentId: string })[] }>(
      'GET',
      '/services',
    );
    const answers = await Promise.all(
      services
        .filter(({ environmentId }) => environmentId === this.#environmentId)
        .map(({ url }) => visit(url, this.#deps.platform.edgePort, '/deployment')),
    );
    const live = await rowsOf<{ id: string }>(
      db,
      `select d.id from deployments d join services s on s.live_deployment_id = d.id
        where s.environment_id = :id and d.together_id = (
          select a.id from stack_applies a where a.together and a.status = 'succeeded' order by a.created_at desc limit 1)`,
      { id: this.#environmentId },
    );
    const served = answers.map(({ body }) => body).sort();
    const wanted = live.map(({ id }) => id).sort();
    const isWrong = JSON.stringify(served) !== JSON.stringify(wanted) || wanted.length !== NAMES.length;
    return [
      { what: 'applies together that did not end as they should', counted: this.#rounds, wrong: this.#wrong },
      {
        what: 'services that went live together and do not serve the last apply that succeeded',
        counted: served.length,
        wrong: isWrong ? [`${served.join(', ')} instead of ${wanted.join(', ')}`] : [],
      },
    ];
  }

  #isBroken(round: number): boolean {
    return round % 3 === 1;
  }

  async #apply(round: number): Promise<Apply> {
    const services = Object.fromEntries(
      NAMES.map((name, index) => [
        name,
        {
          kind: 'web',
          ...this.#deps.configuration,
          ...(this.#isBroken(round) && index === 2 ? { startCommand: 'exit 3' } : {}),
          variables: { ROUND: String(round) },
        },
      ]),
    );
    const document = JSON.stringify({ release: 'together', services });
    const place = { document, environmentId: this.#environmentId };
    const { body } = await insist<{ plan: { hash: string } }>(this.#deps.client, 'POST', '/stacks/plan', {
      name: STACK,
      ...place,
    });
    const asked = { ...place, planHash: body.plan.hash, confirmDestructive: STACK };
    const answer = await insist<{ apply?: Apply }>(this.#deps.client, 'POST', `/stacks/${STACK}/apply`, asked);
    if (answer.body.apply === undefined) throw new Error(`an apply was refused: ${JSON.stringify(answer.body)}`);
    this.#deps.promises.count('apply');
    const ended = await this.#ended(answer.body.apply.id);
    const made = await rowsOf<{ id: string }>(
      this.#deps.platform.database.db,
      'select id from deployments where together_id = :id',
      { id: ended.id },
    );
    for (const { id } of made) this.#deps.promises.deployments.add(id);
    return ended;
  }

  async #ended(id: string): Promise<Apply> {
    const deadline = Date.now() + ENDS_MS;
    for (;;) {
      const { apply } = await insist<{ apply: Apply }>(
        this.#deps.client,
        'GET',
        `/stacks/${STACK}/applies/${id}`,
        undefined,
      ).then(({ body }) => body);
      if (apply.finishedAt !== null) return apply;
      if (Date.now() > deadline) throw new Error(`the apply ${id} does not end: ${JSON.stringify(apply)}`);
      await delay(POLL_MS);
    }
  }
}

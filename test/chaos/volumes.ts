import { setTimeout as delay } from 'node:timers/promises';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { type ApiClient, visit } from '../support/client.js';
import { createService, type Deployment, deploy, ended, operationEnded, type Service } from '../support/deployments.js';
import { rawRequest } from '../support/http.js';
import type { Platform } from '../support/platform.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import type { EdgeOutages } from './edge-outages.js';
import type { Entry } from './entries.js';
import type { FaultInjector } from './faults.js';
import { type Failure, insist, type Promises, runCommand } from './load.js';
import type { Random } from './random.js';

const CLIENTS = 3;
const PAUSE_MS = 50;
const MIN_ROUNDS = 4;
const MAX_STRIKE_DELAY_MS = 1_500;
const ENDS_MS = 900_000;
/** Requests that were in flight at the kill of a replica have ended after this time. */
const NOTICED_MS = 1_000;
/** An edge holds a request for this time. */
const HELD_MS = 30_000;
/** A stopped or killed worker has been replaced after this time. */
const AWAY_MS = 30_000;

/** Answers once its record is on the disk. It writes between requests too, so that two writers leave traces. */
const APPLICATION = {
  Procfile: 'web: exec node server.js\n',
  'server.js': `
    const fs = require('node:fs');
    const FILE = '/data/records';
    const writer = process.env.RANVIER_DEPLOYMENT_ID + '.' + require('node:crypto').randomUUID();
    const fd = fs.openSync(FILE, 'a+');
    let number = fs.readFileSync(FILE, 'utf8').split('\\n').length - 1;
    const store = (what) => { fs.writeSync(fd, (number += 1) + ' ' + writer + ' ' + what + '\\n'); return number; };
    store('begins');
    setInterval(() => store('beats'), 50);
    const server = require('node:http').createServer((request, response) => {
      if (request.url === '/records') return response.end(fs.readFileSync(FILE));
      if (request.url === '/deployment') return response.end(process.env.RANVIER_DEPLOYMENT_ID);
      let body = '';
      request.on('data', (chunk) => { body += chunk; });
      request.on('end', () => { const stored = store(body || 'visit'); fs.fsyncSync(fd); response.end(String(stored)); });
    });
    server.listen(process.env.PORT);
    process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections(); });
  `,
};
/** The command fails if the run has no access to the volume. */
const COMMAND = `test -s /data/records || exit 9; echo "run $RANVIER_RUN_ID"; sleep 2`;

interface VolumesDeps {
  platform: Platform;
  client: ApiClient;
  promises: Promises;
  edge: EdgeOutages;
  random: Random;
  say: (what: string) => void;
}

/** A service that writes to a volume while it is deployed, rolled back, restarted and killed. */
export class Volumes {
  readonly #deps: VolumesDeps;
  readonly #service: Service;
  readonly #repository: TestRepository;
  readonly #acknowledged: [number, string][] = [];
  readonly #failures: Failure[] = [];
  readonly #kills: number[] = [];
  readonly #wrong: string[] = [];
  #rounds = 0;

  private constructor(deps: VolumesDeps, service: Service, repository: TestRepository) {
    this.#deps = deps;
    this.#service = service;
    this.#repository = repository;
  }

  static async start(deps: VolumesDeps): Promise<Volumes> {
    const { client, promises } = deps;
    const repository = await createPlatformRepository(APPLICATION);
    const configuration = { repository: repository.url, plan: 'starter' };
    const service = await createService(client, { name: 'volumes', configuration });
    const volume = { name: 'data', mountPath: '/data', sizeGb: 1 };
    await client.expect('POST', `/services/${service.id}/volumes`, volume);
    promises.deployments.add((await deploy(client, service.id)).id);
    return new Volumes(deps, service, repository);
  }

  async write(stop: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.#send(client, stop)));
  }

  async release(stop: AbortSignal): Promise<void> {
    const { client, promises, edge } = this.#deps;
    const path = `/services/${this.#service.id}`;
    const restart = async () => {
      const { body } = await insist<{ operation: { id: string } }>(client, 'POST', `${path}/actions`, {
        action: 'restart',
      });
      const status = await operationEnded(client, this.#service.id, body.operation.id);
      if (status !== 'succeeded') this.#wrong.push(`a restart ${status}`);
    };
    const rounds: (() => Promise<unknown>)[] = [
      () => Promise.all([this.#deploy(`${path}/deploys`, {}), this.#strike('the edge', () => edge.strike())]),
      () => Promise.all([this.#rollBack(), this.#strike('the replica with a volume', () => this.#kill())]),
      () => Promise.all([this.#deploy(`${path}/deploys`, {}), runCommand(client, this.#service, promises, COMMAND)]),
      restart,
    ];
    for (; this.#rounds < MIN_ROUNDS || !stop.aborted; this.#rounds++) await rounds[this.#rounds % rounds.length]?.();
  }

  async books(faults: FaultInjector): Promise<Entry[]> {
    const { platform, edge } = this.#deps;
    const { status, body } = await visit(this.#service.url, platform.edgePort, '/records');
    const lines = body.split('\n').slice(0, -1);
    const lost = this.#acknowledged.filter(([number, what]) => !lines[number - 1]?.endsWith(` ${what}`));
    const unexplained = this.#failures.filter(
      (failure) => !edge.excuses(failure) && !this.#isOfKill(failure) && !isOfWorker(failure, faults),
    );
    const { writers, wrong } = orderOf(lines);
    return [
      {
        what: `records of a volume that were acknowledged and are lost (${this.#rounds} rounds)`,
        counted: this.#acknowledged.length,
        wrong: status === 200 ? lost.map((record) => record.join(' ')) : [`the file is not there: ${status} ${body}`],
      },
      { what: 'writers of a volume at once, or records out of order', counted: writers, wrong },
      {
        what: `requests to a service with a volume that a release failed (${this.#failures.length} by other faults)`,
        counted: this.#acknowledged.length,
        wrong: [
          ...this.#wrong,
          ...unexplained.map(({ what, begun, ended }) => `${begun} + ${ended - begun} ms: ${what}`),
        ],
      },
    ];
  }

  remove(): Promise<void> {
    return this.#repository.remove();
  }

  async #send(client: number, stop: AbortSignal): Promise<void> {
    const { edgePort } = this.#deps.platform;
    const { host } = new URL(this.#service.url);
    for (let count = 1; !stop.aborted; count++) {
      const what = `${client}.${count}`;
      const begun = Date.now();
      const answer = await rawRequest(`http://127.0.0.1:${edgePort}/`, {
        method: 'POST',
        headers: { host },
        body: what,
      }).catch((error: Error) => ({ status: 0, body: error.message }));
      if (answer.status === 200) this.#acknowledged.push([Number(answer.body), what]);
      else {
        const failed = `${answer.status} ${answer.body.slice(0, 120)}`;
        this.#failures.push({ serviceId: this.#service.id, what: failed, begun, ended: Date.now() });
      }
      await delay(PAUSE_MS);
    }
  }

  async #deploy(path: string, request: object): Promise<void> {
    const { client, promises } = this.#deps;
    const { status, body } = await insist<{ deployment?: Deployment }>(client, 'POST', path, request);
    promises.count(`release of a volume ${status}`);
    if (!body.deployment) return;
    promises.deployments.add(body.deployment.id);
    await ended(client, this.#service.id, body.deployment.id, ENDS_MS);
  }

  async #rollBack(): Promise<void> {
    const { platform } = this.#deps;
    const { id, name } = this.#service;
    const source = await platform.database.db('deployments').where({ service_id: id, status: 'live' }).first('id');
    await this.#deploy(`/services/${id}/deploys/${source.id}/rollback`, { confirm: name });
  }

  async #strike(what: string, act: () => Promise<void>): Promise<void> {
    const { random, promises, say } = this.#deps;
    await delay(random.between(0, MAX_STRIKE_DELAY_MS));
    say(`kill ${what}`);
    promises.count(`kill ${what}`);
    await act();
  }

  /** Kills the replica of the live release. Killing one that starts would fail its deployment. */
  async #kill(): Promise<void> {
    const { platform } = this.#deps;
    const { db } = platform.database;
    const service = await db('services').where({ id: this.#service.id }).first('live_deployment_id');
    const of = { deployment_id: service?.live_deployment_id, state: 'ready' };
    const replicas: string[] = await db('replicas').where(of).pluck('id');
    for (const [pid, mark] of await markedProcesses(await platform.sandboxToken())) {
      if (!replicas.some((id) => mark.includes(id))) continue;
      this.#kills.push(Date.now());
      try {
        process.kill(pid, 'SIGKILL');
      } catch {}
    }
  }

  #isOfKill({ begun, ended: end }: Failure): boolean {
    return this.#kills.some((at) => begun <= at + NOTICED_MS && end >= at);
  }
}

/** True if the request waited as long as an edge holds one, while the worker of a release may have been away. */
function isOfWorker({ begun, ended: end }: Failure, faults: FaultInjector): boolean {
  return end - begun >= HELD_MS && faults.struckBetween(/worker/, begun - AWAY_MS, end);
}

function orderOf(lines: readonly string[]): { writers: number; wrong: string[] } {
  const writers = new Set<string>();
  let last = '';
  const wrong = lines.filter((line, index) => {
    const [number, writer = ''] = line.split(' ');
    const isBack = writer !== last && writers.has(writer);
    writers.add(writer);
    last = writer;
    return isBack || Number(number) !== index + 1;
  });
  return { writers: writers.size, wrong };
}

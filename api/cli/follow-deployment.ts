import type { ApiClient } from './api-client.js';
import type { Deployment, LogBatch, Service } from './api-types.js';
import type { Cli } from './cli.js';
import { afterFailure, errorLines, runningLine, stepLine, usualBuild, wholeTime } from './deployment-lines.js';
import { CliError, EXIT } from './exit-codes.js';
import { LogCursor } from './log-cursor.js';
import { oneLine, printable, seconds, shortId } from './terminal-text.js';
import { type WaitOptions, waitUntil } from './wait-until.js';

export interface FollowOptions extends WaitOptions {
  verbose: boolean;
}

const QUICK_MS = 500;
const CALM_MS = 1000;
const CALM_AFTER_MS = 20_000;

export async function followUnlessDetached(
  cli: Cli,
  service: Service,
  id: string,
  options: FollowOptions,
): Promise<void> {
  if (!options.detach) return followDeployment(cli, { service, id }, options);
  cli.printData({ deployment: { id }, service: briefOf(service) }, id);
}

export function briefOf({ id, name, url }: Service): Pick<Service, 'id' | 'name' | 'url'> {
  return { id, name, url };
}

/**
 * Prints a deployment's progress until it is finished. Throws with exit code 20 if the deployment failed, with 21 if it
 * was cancelled, and with 22 after the timeout.
 */
export async function followDeployment(
  cli: Cli,
  { service, id }: { service: Service; id: string },
  options: FollowOptions,
): Promise<void> {
  const api = await cli.client();
  const path = `/services/${service.id}/deploys`;
  const { items } = await api.get<{ items: Deployment[] }>(`${path}?limit=20`);
  const view = new StepView(cli, usualBuild(items.filter((each) => each.id !== id)));
  const log = new LogTail(cli, api, `/services/${service.id}/logs?deploymentId=${id}`, options.verbose);
  let read: Deployment | null = null;
  const wait = {
    timeout: options.timeout,
    late: () => stillRunning(id, read, options.timeout),
    intervalMs: (elapsed: number) => (elapsed < CALM_AFTER_MS ? QUICK_MS : CALM_MS),
  };
  const deployment = await waitUntil(cli, wait, async () => {
    const answer = await api.once<{ deployment: Deployment }>('GET', `${path}/${id}`);
    read = answer.deployment;
    view.show(read, await log.read());
    return read.finishedAt === null ? undefined : read;
  });
  await log.rest();
  await end(cli, api, service, deployment);
}

async function end(cli: Cli, api: ApiClient, { id }: Service, deployment: Deployment): Promise<void> {
  const { terminal } = cli;
  const { service } = await api.get<{ service: Service }>(`/services/${id}`);
  if (cli.json) terminal.json({ deployment, service: briefOf(service) });
  const time = seconds(wholeTime(deployment));
  switch (deployment.status) {
    case 'live': {
      const live = `Live in ${time}`;
      if (cli.json || service.url === '') terminal.say(terminal.paint('green', live));
      else if (terminal.showsData) terminal.data(`${terminal.paintData('green', live)}   ${service.url}`);
      else {
        terminal.say(live);
        terminal.data(service.url);
      }
      return;
    }
    case 'cancelled':
      throw new CliError(EXIT.cancelled, `The deployment ${shortId(deployment.id)} was cancelled after ${time}.`);
    default:
      for (const line of errorLines(deployment)) terminal.complain(line);
      throw new CliError(EXIT.failed, afterFailure(deployment, service.liveDeploymentId, service.name));
  }
}

function stillRunning(id: string, deployment: Deployment | null, timeout: number): CliError {
  const state = deployment?.blockedReason || deployment?.status || 'not read yet';
  return new CliError(
    EXIT.timedOut,
    `After ${seconds(timeout)} the deployment ${shortId(id)} has not ended (${oneLine(state)}). It continues: see rnv status`,
  );
}

class StepView {
  readonly #cli: Cli;
  readonly #usual: number | null;
  #printed = 0;
  #blocked = '';
  #running: { name: string; since: number } | null = null;

  constructor(cli: Cli, usual: number | null) {
    this.#cli = cli;
    this.#usual = usual;
  }

  show({ steps, status, blockedReason }: Deployment, lastLine: string): void {
    const { terminal } = this.#cli;
    for (const [index, step] of steps.entries()) {
      if (step.finishedAt === null || index < this.#printed) continue;
      const bad = index === steps.length - 1 && (status === 'failed' || status === 'cancelled');
      const note = bad ? status.toUpperCase() : step.name === 'build' ? this.#usually() : '';
      terminal.say(bad ? terminal.paint('red', stepLine(step, note)) : stepLine(step, note));
      this.#printed = index + 1;
    }
    if (blockedReason !== '' && blockedReason !== this.#blocked && !terminal.showsProgress)
      terminal.say(`  waiting  ${oneLine(blockedReason)}`);
    this.#blocked = blockedReason;
    const running = steps.find((step) => step.finishedAt === null);
    if (!running) {
      terminal.progress('');
      return;
    }
    if (this.#running?.name !== running.name) this.#running = { name: running.name, since: performance.now() };
    const elapsed = performance.now() - this.#running.since;
    terminal.progress(runningLine(running.name, elapsed, blockedReason || lastLine));
  }

  #usually(): string {
    return this.#usual === null ? '' : `usually ${seconds(this.#usual)}`;
  }
}

/** Prints a deployment's log with --verbose. Otherwise the newest line is part of the progress line. */
class LogTail {
  readonly #cli: Cli;
  readonly #api: ApiClient;
  readonly #path: string;
  readonly #log: LogCursor | null;

  constructor(cli: Cli, api: ApiClient, path: string, verbose: boolean) {
    this.#cli = cli;
    this.#api = api;
    this.#path = path;
    this.#log = verbose ? new LogCursor(api, path, 0) : null;
  }

  async read(): Promise<string> {
    const { terminal } = this.#cli;
    if (this.#log !== null) {
      await this.#log.read(({ message }) => terminal.say(terminal.paint('dim', `    ${printable(message)}`)));
      return '';
    }
    if (!terminal.showsProgress) return '';
    const { items } = await this.#api.once<LogBatch>('GET', `${this.#path}&limit=1`);
    return items.at(-1)?.message ?? '';
  }

  async rest(): Promise<void> {
    if (this.#log !== null) await this.read().catch(() => undefined);
  }
}

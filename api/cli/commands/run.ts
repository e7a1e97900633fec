import { setTimeout as delay } from 'node:timers/promises';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit.js';
import { Patience } from '../follow.js';
import type { ApiClient } from '../http.js';
import { oneLine, printable, seconds, shortId } from '../text.js';
import type { Run, Service } from '../types.js';
import type { WaitOptions } from './wait-options.js';

const LOOK_MS = 1000;

/** Runs a cron service now, and waits for the end. Throws 20 if it failed or was skipped, 21 if it was cancelled, 22 after the timeout. */
export async function run(cli: Cli, options: WaitOptions): Promise<void> {
  const { terminal } = cli;
  const api = await cli.client();
  const service = await cli.service();
  const path = `/services/${service.id}/runs`;
  const { run: begun } = await api.write<{ run: Run }>('POST', path);
  terminal.say(`Running ${oneLine(service.name)}, run ${shortId(begun.id)}`);
  if (options.detach) return cli.json ? terminal.json({ run: begun }) : terminal.data(begun.id);
  const ended = await wait(cli, api, `${path}/${begun.id}`, options.timeout);
  if (cli.json) terminal.json({ run: ended });
  report(cli, service, ended);
}

async function wait(cli: Cli, api: ApiClient, path: string, timeout: number): Promise<Run> {
  const patience = new Patience(cli);
  for (const begun = performance.now(); ; ) {
    const elapsed = performance.now() - begun;
    if (elapsed > timeout)
      throw new CliError(EXIT.timedOut, `After ${seconds(timeout)} the run has not ended. It goes on: see rnv logs`);
    try {
      const { run } = await api.once<{ run: Run }>('GET', path);
      patience.restored();
      if (run.finishedAt !== null) return run;
      const attempt = run.attempt > 1 ? `, attempt ${run.attempt}` : '';
      cli.terminal.progress(`  ${run.status}${attempt}  ${seconds(elapsed)}`);
      await delay(LOOK_MS, undefined, { signal: cli.signal });
    } catch (error) {
      await patience.wait(error);
    }
  }
}

function report(cli: Cli, service: Service, run: Run): void {
  const time = run.startedAt && run.finishedAt ? seconds(Date.parse(run.finishedAt) - Date.parse(run.startedAt)) : '';
  if (run.status === 'succeeded') {
    cli.terminal.say(`Succeeded in ${time}`);
    return;
  }
  const why = printable(run.error).trim();
  const all = `All: rnv logs -s ${service.internalHost}`;
  if (run.status === 'cancelled') throw new CliError(EXIT.cancelled, 'The run was cancelled.');
  throw new CliError(EXIT.failed, `The run ${run.status}${why === '' ? '' : `: ${why}`}. ${all}`);
}

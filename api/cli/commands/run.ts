import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../api-client.js';
import type { Run, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { LogCursor } from '../log-cursor.js';
import { ago, oneLine, printable, seconds, shortId } from '../terminal-text.js';
import { type WaitOptions, waitUntil } from '../wait-until.js';

const POLL_INTERVAL_MS = 1000;
const REST_MS = 300;
const QUIET_LOOKS = 3;

export interface RunOptions extends WaitOptions {
  plan?: string;
  /** Maximum run time, in milliseconds. The platform then ends the command. */
  limit?: number;
}

/**
 * Runs a command with a service's live release. Without a command, a cron service runs its own command. If a given
 * command fails, throws with its exit code. Throws with exit code 21 if the run was cancelled, with 22 after the
 * timeout, and with 20 if the run was skipped or failed in another way.
 */
export async function run(
  cli: Cli,
  first: string | undefined,
  others: readonly string[],
  options: RunOptions,
): Promise<void> {
  const { terminal, command } = cli;
  const api = await cli.client();
  const service = await cli.serviceBefore([first, ...others], {
    isOptional: true,
    example: 'rnv run -- npm run migrate',
  });
  if (command.length === 0 && service.kind !== 'cron') {
    throw new CliError(
      EXIT.usage,
      'Only a cron service has a command of its own. Give one: rnv run -- npm run migrate',
    );
  }
  const path = `/services/${service.id}/runs`;
  const { run: begun } = await api.write<{ run: Run }>('POST', path, bodyOf(command, options));
  const log = new LogCursor(api, `/services/${service.id}/logs?runId=${begun.id}`, 0);
  terminal.say(`Running ${oneLine(service.name)}, run ${shortId(begun.id)}`);
  if (options.detach) return cli.printData({ run: begun }, begun.id);
  const ended = await wait(cli, api, log, `${path}/${begun.id}`, options.timeout);
  if (cli.json) terminal.json({ run: ended });
  report(cli, service, ended);
}

/** One argument is a command line for the shell; several are a program with its arguments. */
function bodyOf(command: readonly string[], { plan, limit }: RunOptions): object {
  return {
    command: command.length < 2 ? command[0] : command,
    plan,
    timeoutSeconds: limit === undefined ? undefined : Math.ceil(limit / 1000),
  };
}

/**
 * Prints the new output of the run, and returns the number of new log lines. With --json, the output goes to stderr,
 * because stdout gets the document.
 */
function printNew({ terminal, json }: Cli, log: LogCursor): Promise<number> {
  return log.read(({ message, source }) => {
    if (source !== 'runtime') return;
    if (json) terminal.say(printable(message));
    else terminal.data(printable(message, { colours: terminal.colours }));
  });
}

/** Workers store log lines with a delay, so the log is polled until no new line arrives. */
async function printRest(cli: Cli, log: LogCursor): Promise<void> {
  try {
    for (let quiet = 0; quiet < QUIET_LOOKS; ) {
      await delay(REST_MS, undefined, { signal: cli.signal });
      quiet = (await printNew(cli, log)) === 0 ? quiet + 1 : 0;
    }
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
  }
}

async function wait(cli: Cli, api: ApiClient, log: LogCursor, path: string, timeout: number): Promise<Run> {
  const late = () =>
    new CliError(EXIT.timedOut, `After ${seconds(timeout)} the run has not ended. It goes on: see rnv runs`);
  return waitUntil(cli, { timeout, late, intervalMs: POLL_INTERVAL_MS }, async (elapsed) => {
    const { run } = await api.once<{ run: Run }>('GET', path);
    await printNew(cli, log);
    if (run.finishedAt !== null) {
      if (run.startedAt !== null) await printRest(cli, log);
      return run;
    }
    const attempt = run.attempt > 1 ? `, attempt ${run.attempt}` : '';
    cli.terminal.progress(`  ${run.status}${attempt}  ${seconds(elapsed)}`);
    return undefined;
  });
}

function report(cli: Cli, service: Service, run: Run): void {
  const time = run.startedAt && run.finishedAt ? seconds(Date.parse(run.finishedAt) - Date.parse(run.startedAt)) : '';
  if (run.status === 'succeeded') {
    cli.terminal.say(`Succeeded in ${time}, exit code ${run.exitCode ?? 0}`);
    return;
  }
  const why = printable(run.error).trim();
  const all = `All: rnv logs -s ${service.internalHost}`;
  if (run.status === 'cancelled') throw new CliError(EXIT.cancelled, 'The run was cancelled.');
  const code = run.exitCode === null ? '' : ` with exit code ${run.exitCode}`;
  const verb = run.status === 'skipped' ? 'was skipped' : 'failed';
  const exit = run.command === null || !run.exitCode ? EXIT.failed : run.exitCode;
  throw new CliError(exit, `The run ${verb}${code}${why === '' ? '' : `: ${why}`}. ${all}`);
}

export async function runs(cli: Cli): Promise<void> {
  const { api, path } = await cli.ofService('runs');
  const { runs: items } = await api.get<{ runs: Run[] }>(`${path}?limit=50`);
  const rows = items.map((each) => [
    shortId(each.id),
    each.status,
    each.exitCode === null ? '' : `exit code ${each.exitCode}`,
    `${ago(Date.now() - Date.parse(each.scheduledAt))} ago`,
    oneLine(each.command ?? each.trigger),
    oneLine(each.error),
  ]);
  cli.printRows({ runs: items }, rows);
}

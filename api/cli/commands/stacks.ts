import { readFile, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { ApiError } from '../api-client.js';
import type { StackApply, StackApplyDetail, StackPlan } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { planLines, planSummary, type Tone } from '../plan-lines.js';
import { mergeStack, STACK_FILE } from '../stack-file.js';
import { count, oneLine } from '../terminal-text.js';
import { type WaitOptions, waitUntil } from '../wait-until.js';
import { CREATE_PROJECT, projectsOf } from './projects.js';

export interface StackOptions {
  stack?: string;
  environment?: string;
}

export interface PlanOptions extends StackOptions {
  exitCode?: boolean;
}

export interface ApplyOptions extends StackOptions, WaitOptions {
  values?: string;
}

const CHANGES = 3;
const POLL_INTERVAL_MS = 500;

/** Shows what `rnv apply` would change with this file. With --exit-code, exits with 3 if there are changes. */
export async function plan(cli: Cli, file: string | undefined, options: PlanOptions): Promise<void> {
  const found = await planned(cli, await sourceOf(cli, file, options));
  if (cli.json) cli.terminal.json({ plan: found });
  else show(cli, found);
  if (options.exitCode && found.changes.length > 0) throw new CliError(CHANGES, '');
}

/** Shows the changes that a file requires, asks for confirmation, and applies them to the environment. */
export async function apply(cli: Cli, file: string | undefined, options: ApplyOptions): Promise<void> {
  const source = await sourceOf(cli, file, options);
  const seen = await planned(cli, source);
  if (!cli.json) show(cli, seen);
  if (seen.changes.length > 0) {
    const question = seen.destructive
      ? `Apply this to ${source.name}? What is deleted or replaced cannot be restored.`
      : `Apply this to ${source.name}?`;
    await cli.confirm(question, !seen.destructive);
  }
  const values = await secretValues(cli, seen, options);
  const api = await cli.client();
  const { apply: begun } = await api.write<{ apply: StackApply }>('POST', `/stacks/${source.name}/apply`, {
    document: source.document,
    planHash: seen.hash,
    values,
    environmentId: source.environmentId,
    confirmDestructive: seen.destructive ? source.name : undefined,
  });
  if (options.detach) return cli.printData({ apply: begun }, begun.id);
  await followApply(cli, source.name, begun.id, options.timeout);
}

/** Writes the environment's configuration to a file. Keeps the entries of an existing file that already match. */
export async function pull(cli: Cli, file: string | undefined, options: StackOptions): Promise<void> {
  const path = resolve(cli.cwd, file ?? STACK_FILE);
  const api = await cli.client();
  const { name, environmentId } = await placeOf(cli, options);
  const id = environmentId ?? (await environmentOfStack(cli, name)) ?? noEnvironment();
  const { document, warnings } = await api.get<{ document: string; warnings: string[] }>(`/environments/${id}/stack`);
  const before = await readFile(path, 'utf8').catch(() => null);
  const isSame = before !== null && (await saysTheSame(cli, { name, document: before, environmentId }));
  const written = before === null ? document : isSame ? before : await mergeStack(before, document);
  if (written !== before) await writeFile(path, written);
  for (const warning of warnings) cli.terminal.complain(oneLine(warning));
  const outcome = written === before ? `${basename(path)} says what there is.` : `Wrote ${basename(path)}`;
  cli.printOutcome({ file: path, changed: written !== before, warnings }, outcome);
}

interface Source {
  name: string;
  document: string;
  environmentId: string | undefined;
}

async function sourceOf(cli: Cli, file: string | undefined, options: StackOptions): Promise<Source> {
  const path = resolve(cli.cwd, file ?? STACK_FILE);
  const document = await readFile(path, 'utf8').catch(() => {
    throw new CliError(EXIT.usage, `${path} cannot be read. Write it with rnv pull, or give the name of another file`);
  });
  return { document, ...(await placeOf(cli, options)) };
}

/** Without --environment, `environmentId` is undefined if the stack exists: the API knows its environment. */
async function placeOf(cli: Cli, options: StackOptions): Promise<Omit<Source, 'document'>> {
  const name = options.stack ?? stackName(basename(cli.cwd));
  if (options.environment !== undefined)
    return { name, environmentId: await environmentNamed(cli, options.environment) };
  if ((await environmentOfStack(cli, name)) !== undefined) return { name, environmentId: undefined };
  const linked = await cli.namedService();
  return { name, environmentId: linked?.environmentId ?? noEnvironment() };
}

function noEnvironment(): never {
  throw new CliError(
    EXIT.usage,
    'Which environment? Give --environment, as "project/environment" or by its id; or --stack, if the stack exists',
  );
}

async function environmentOfStack(cli: Cli, name: string): Promise<string | undefined> {
  const api = await cli.client();
  try {
    const { stack } = await api.get<{ stack: { environmentId: string } }>(`/stacks/${name}`);
    return stack.environmentId;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Returns the id of an environment given as project/environment, name or id. Throws `CliError` if no environment
 * matches, or if several match.
 */
export async function environmentNamed(cli: Cli, text: string): Promise<string> {
  const all = (await projectsOf(cli)).flatMap((project) =>
    project.environments.map(({ id, name }) => ({ id, name, full: `${project.name}/${name}` })),
  );
  const found = all.filter(({ id, name, full }) => [id, name, full].includes(text));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only.id;
  if (all.length === 0) throw new CliError(EXIT.notFound, `There is no environment ${text}. ${CREATE_PROJECT}`);
  const names = (found.length === 0 ? all : found).map(({ full }) => `  ${oneLine(full)}`).join('\n');
  const problem = found.length === 0 ? `There is no environment ${text}` : `Several environments are named ${text}`;
  throw new CliError(found.length === 0 ? EXIT.notFound : EXIT.usage, `${problem}:\n${names}`);
}

function stackName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'stack' : name;
}

async function planned(cli: Cli, { name, document, environmentId }: Source): Promise<StackPlan> {
  const api = await cli.client();
  return (await api.write<{ plan: StackPlan }>('POST', '/stacks/plan', { name, document, environmentId })).plan;
}

async function saysTheSame(cli: Cli, source: Source): Promise<boolean> {
  try {
    return (await planned(cli, source)).changes.length === 0;
  } catch (error) {
    if (error instanceof ApiError && [400, 409, 413].includes(error.status)) return false;
    throw error;
  }
}

const STYLES = { good: 'green', bad: 'red', change: 'yellow' } as const satisfies Partial<Record<Tone, string>>;

function show(cli: Cli, found: StackPlan): void {
  for (const { text, tone } of planLines(found)) {
    cli.terminal.data(tone === 'plain' ? text : cli.terminal.paintData(STYLES[tone], text));
  }
  cli.terminal.say(planSummary(found));
}

async function secretValues(
  cli: Cli,
  { secrets }: StackPlan,
  { values }: ApplyOptions,
): Promise<Record<string, string>> {
  const given = values === undefined ? {} : await readValues(cli, values);
  for (const secret of secrets) {
    given[secret] ??= await cli.terminal.secret(`The value of ${secret}`, '--values');
  }
  return given;
}

export async function readValues(cli: Cli, file: string): Promise<Record<string, string>> {
  const text = await cli.textOf(file);
  try {
    return JSON.parse(text ?? '') as Record<string, string>;
  } catch {
    throw new CliError(EXIT.usage, `${file} is no JSON such as {"web.TOKEN": "…"}`);
  }
}

/** Prints the steps of an apply until it is finished. Throws `CliError` if it fails or the wait times out. */
export async function followApply(cli: Cli, name: string, id: string, timeout: number): Promise<void> {
  const api = await cli.client();
  let printed = 0;
  const ended = await waitUntil(
    cli,
    {
      timeout,
      intervalMs: POLL_INTERVAL_MS,
      late: () => new CliError(EXIT.timedOut, 'The wait timed out; the apply goes on.'),
    },
    async () => {
      const { apply: now } = await api.get<{ apply: StackApplyDetail }>(`/stacks/${name}/applies/${id}`);
      const done = now.steps.filter(({ status }) => status === 'done');
      for (const { op, name: resource } of done.slice(printed)) cli.terminal.say(`  ${op} ${oneLine(resource)}`);
      printed = done.length;
      const waits = now.steps.length > 0 && done.length === now.steps.length;
      if (now.finishedAt === null && waits)
        cli.terminal.progress(`  waiting for ${count(now.deploys.length, 'deployment')}`);
      return now.finishedAt === null ? undefined : now;
    },
  );
  cli.terminal.progress('');
  if (cli.json) cli.terminal.json({ apply: ended });
  if (ended.status === 'cancelled') throw new CliError(EXIT.cancelled, 'The apply was cancelled.');
  if (ended.status === 'failed') throw new CliError(EXIT.failed, `The apply failed: ${ended.error}`);
  if (!cli.json) cli.terminal.say('Applied.');
}

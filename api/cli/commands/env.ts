import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type EnvEntry, parseEnv } from '../../pages/console/ui/env-text.js';
import type { Service, Variable } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT, missingAnswer } from '../exit-codes.js';
import { ago, count } from '../terminal-text.js';

const NEXT = 'The change takes effect with the next deployment: run rnv deploy';

export async function list(cli: Cli): Promise<void> {
  const variables = await read(cli, await cli.service());
  const sorted = [...variables].sort((a, b) => (a.key < b.key ? -1 : 1));
  const rows = sorted.map(({ key, kind, scope = 'all', updatedAt }) => [
    key,
    kind,
    scope,
    `${ago(Date.now() - Date.parse(updatedAt))} ago`,
  ]);
  cli.printRows({ variables }, rows);
}

export interface ScopeOptions {
  scope?: 'all' | 'production' | 'preview';
}

export async function set(cli: Cli, keys: readonly string[], { scope }: ScopeOptions): Promise<void> {
  const { terminal } = cli;
  const wrong = keys.find((key) => key.includes('='));
  if (wrong !== undefined) {
    const key = wrong.split('=')[0];
    throw new CliError(
      EXIT.usage,
      `A value on the command line stays in the history of the shell. Run rnv env set ${key}, and enter the value at the prompt or by stdin`,
    );
  }
  if (!terminal.asks && keys.length > 1)
    throw missingAnswer('The values of several variables', 'rnv env import with KEY=value lines by stdin');
  const service = await cli.service();
  const values: { key: string; value: string; scope: ScopeOptions['scope'] }[] = [];
  for (const key of keys) {
    const value = terminal.hasInput ? await terminal.input() : await terminal.secret(`Value of ${key}`, 'it by stdin');
    values.push({ key, value, scope });
  }
  await write(cli, service, { set: values });
  cli.terminal.say(`Set ${keys.join(', ')} of ${service.name}. ${NEXT}`);
}

export async function unset(cli: Cli, keys: readonly string[]): Promise<void> {
  const service = await cli.service();
  const known = new Set((await read(cli, service)).map(({ key }) => key));
  const missing = keys.filter((key) => !known.has(key));
  if (missing.length > 0) throw new CliError(EXIT.notFound, `${service.name} has no variable ${missing.join(', ')}`);
  await write(cli, service, { unset: keys });
  cli.terminal.say(`Deleted ${keys.join(', ')} of ${service.name}. ${NEXT}`);
}

/** Creates or replaces the variables of a .env file in one request. Keeps other variables of the service. */
export async function push(cli: Cli, file: string | undefined, { scope }: ScopeOptions): Promise<void> {
  const { terminal } = cli;
  const fromStdin = file === undefined || file === '-';
  if (fromStdin && !terminal.hasInput)
    throw new CliError(EXIT.usage, 'Name a .env file, or pass KEY=value lines by stdin');
  const service = await cli.service();
  const text = fromStdin ? await terminal.input() : await contentOf(resolve(cli.cwd, file));
  const found = variablesOf(text);
  if (found.length === 0) throw new CliError(EXIT.usage, 'The file contains no variables');
  const known = new Set((await read(cli, service)).map(({ key }) => key));
  const keys = found.map(({ key }) => key);
  const added = keys.filter((key) => !known.has(key));
  const replaced = keys.filter((key) => known.has(key));
  for (const key of added) cli.terminal.say(`  + ${key}`);
  for (const key of replaced) cli.terminal.say(`  ~ ${key}`);
  const summary = `${count(added.length, 'new variable')}, ${replaced.length} replaced, ${known.size - replaced.length} unchanged`;
  if (terminal.asks) await cli.confirm(`${summary}. Continue?`);
  await write(cli, service, { set: found.map((variable) => ({ ...variable, scope })) });
  cli.terminal.say(`${summary} of ${service.name}. ${NEXT}`);
}

/** Adds the names of a service's variables to a .env file, without values: the API never returns them. */
export async function pull(cli: Cli, file = '.env'): Promise<void> {
  const service = await cli.service();
  const path = resolve(cli.cwd, file);
  const before = await contentOf(path, '');
  const known = new Set(variablesOf(before).map(({ key }) => key));
  const missing = (await read(cli, service)).map(({ key }) => key).filter((key) => !known.has(key));
  const gap = before === '' || before.endsWith('\n') ? '' : '\n';
  if (missing.length > 0) {
    const lines = missing.sort().map((key) => `${key}=\n`);
    // The user will add secrets, so other users must not read the file.
    await writeFile(path, `${before}${gap}${lines.join('')}`, { mode: 0o600 });
  }
  if (cli.json) return cli.terminal.json({ file: path, added: missing });
  for (const key of missing) cli.terminal.data(key);
  cli.terminal.say(`${count(missing.length, 'name')} added to ${file}. Values cannot be read back: fill them in`);
}

function variablesOf(text: string): EnvEntry[] {
  const { entries, problems } = parseEnv(text);
  if (problems[0] !== undefined) throw new CliError(EXIT.usage, problems[0]);
  return entries;
}

async function read(cli: Cli, { id }: Service): Promise<Variable[]> {
  const api = await cli.client();
  return (await api.get<{ variables: Variable[] }>(`/services/${id}/variables`)).variables;
}

async function write(cli: Cli, { id }: Service, body: object): Promise<void> {
  const api = await cli.client();
  const { variables } = await api.write<{ variables: Variable[] }>('PUT', `/services/${id}/variables`, body);
  if (cli.json) cli.terminal.json({ variables });
}

async function contentOf(path: string, absent?: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (absent !== undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return absent;
    throw new CliError(EXIT.usage, `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { send } from '../api-client.js';
import type { Template } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { oneLine, table } from '../terminal-text.js';

export interface NewOptions {
  /** Answers by the names of the questions. */
  set: Record<string, string>;
  force?: boolean;
}

const FILE = 'ranvier.yaml';

/** Lists the templates: name, memory, version, the day of its check, and description. */
export async function templates(cli: Cli): Promise<void> {
  const found = await read<{ templates: Template[] }>(cli, '/templates');
  if (cli.json) return cli.terminal.json(found);
  const rows = found.templates.map(({ name, memoryMb, version, checked, description }) => [
    ...[name, `${memoryMb} MiB`, oneLine(version), checked ?? 'not checked', oneLine(description)],
  ]);
  for (const line of table(rows)) cli.terminal.data(line);
}

/** Asks the questions of a template, and writes its document into ranvier.yaml. */
export async function newStack(cli: Cli, name: string, { set, force }: NewOptions): Promise<void> {
  const target = resolve(cli.cwd, FILE);
  const exists = (await readFile(target).catch(() => null)) !== null;
  if (exists && !force) throw new CliError(EXIT.usage, `${FILE} exists: --force overwrites it`);
  const { template } = await read<{ template: Template }>(cli, `/templates/${encodeURIComponent(name)}`);
  const values = await answersOf(cli, template, set);
  const api = await cli.client();
  const path = `/templates/${encodeURIComponent(name)}/fill`;
  const { document } = await api.write<{ document: string }>('POST', path, { values });
  await writeFile(target, document);
  const secrets = template.questions.filter(({ secret }) => secret);
  if (cli.json) return cli.terminal.json({ file: target, secrets: secrets.map((secret) => secret.name) });
  cli.terminal.say(`Wrote ${FILE} for ${oneLine(template.title)} ${oneLine(template.version)}. Next:`);
  cli.terminal.say('  rnv plan --environment <project>/<environment>');
  cli.terminal.say('  rnv apply --environment <project>/<environment>');
  for (const secret of secrets) cli.terminal.say(`rnv apply asks for ${secret.name}: ${oneLine(secret.label)}`);
}

/** Returns the answers of --set, and asks for the others on a terminal. Secrets are not asked: an apply does it. */
async function answersOf(cli: Cli, { questions }: Template, set: NewOptions['set']): Promise<NewOptions['set']> {
  const answers = { ...set };
  for (const { name, label, help, default: initial, example, required, secret } of questions) {
    if (secret && name in set)
      throw new CliError(EXIT.usage, `${name} is a secret, which is never written to a file: rnv apply asks for it`);
    if (secret || name in set) continue;
    const mayAsk = cli.terminal.asks && !cli.options.yes && (required || initial !== '');
    if (!required && !mayAsk) continue;
    const hint = [help, example === '' ? '' : `such as ${example}`].filter((text) => text !== '').join('; ');
    const question = oneLine(hint === '' ? label : `${label} (${hint})`);
    answers[name] = await cli.terminal.text(question, `--set ${name}=…`, initial);
  }
  return answers;
}

/** Reads a path of the API that belongs to no workspace. */
async function read<T>(cli: Cli, path: string): Promise<T> {
  const { url, key } = await cli.client();
  const headers = { Authorization: `Bearer ${key}` };
  return (await send(`${url}/api/v1${path}`, { method: 'GET', headers, signal: cli.signal })).body as T;
}

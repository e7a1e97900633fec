import { writeFile } from 'node:fs/promises';
import type { Template } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { freeStackFile, STACK_FILE } from '../stack-file.js';
import { oneLine } from '../terminal-text.js';

export interface NewOptions {
  /** The answers given on the command line: name of the template's question → answer. */
  set: Record<string, string>;
  force?: boolean;
}

export async function templates(cli: Cli): Promise<void> {
  const api = await cli.client();
  const found = await api.get<{ templates: Template[] }>('/templates');
  const rows = found.templates.map(({ name, memoryMb, version, checked, description }) => [
    ...[name, `${memoryMb} MiB`, oneLine(version), checked ?? 'not checked', oneLine(description)],
  ]);
  cli.printRows(found, rows);
}

/** Asks the questions of a template, and writes its document to ranvier.yaml. */
export async function newStack(cli: Cli, name: string, { set, force }: NewOptions): Promise<void> {
  const target = await freeStackFile(cli, { force });
  const api = await cli.client();
  const path = `/templates/${encodeURIComponent(name)}`;
  const { template } = await api.get<{ template: Template }>(path);
  const values = await answersOf(cli, template, set);
  const { document } = await api.write<{ document: string }>('POST', `${path}/fill`, { values });
  await writeFile(target, document);
  const secrets = template.questions.filter(({ secret }) => secret);
  if (cli.json) return cli.terminal.json({ file: target, secrets: secrets.map((secret) => secret.name) });
  cli.terminal.say(`Wrote ${STACK_FILE} for ${oneLine(template.title)} ${oneLine(template.version)}. Next:`);
  cli.terminal.say('  rnv plan --environment <project>/<environment>');
  cli.terminal.say('  rnv apply --environment <project>/<environment>');
  for (const secret of secrets) cli.terminal.say(`rnv apply asks for ${secret.name}: ${oneLine(secret.label)}`);
}

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

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Rule } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';

/** Prints a service's rules as JSON, in the format that `rules set` reads. */
export async function get(cli: Cli): Promise<void> {
  const { id } = await cli.service();
  const answer = await (await cli.client()).get<{ rules: Rule[] }>(`/services/${id}/rules`);
  if (cli.json) return cli.terminal.json(answer);
  cli.terminal.data(JSON.stringify(answer, null, 2));
}

/** Replaces a service's rules with those in a file: a list, or an object with the list in `rules`. */
export async function set(cli: Cli, file: string): Promise<void> {
  const rules = await readRules(cli, file);
  const { id } = await cli.service();
  const answer = await (await cli.client()).write<{ rules: Rule[] }>('PUT', `/services/${id}/rules`, { rules });
  if (cli.json) return cli.terminal.json(answer);
  cli.terminal.say(
    answer.rules.length === 1 ? 'The service has 1 rule' : `The service has ${answer.rules.length} rules`,
  );
}

async function readRules(cli: Cli, file: string): Promise<unknown> {
  const text =
    file === '-' ? await cli.terminal.input() : await readFile(resolve(cli.cwd, file), 'utf8').catch(() => null);
  if (text === null) throw new CliError(EXIT.usage, `${file} cannot be read`);
  try {
    const content: unknown = JSON.parse(text);
    return typeof content === 'object' && content !== null && 'rules' in content ? content.rules : content;
  } catch {
    throw new CliError(
      EXIT.usage,
      `${file} is no JSON such as {"rules": [{"type": "redirect", "from": "/old", "to": "/new"}]}`,
    );
  }
}

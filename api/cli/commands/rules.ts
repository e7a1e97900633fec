import type { Rule } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { count } from '../terminal-text.js';

/** Prints a service's rules as JSON, in the format that `rules set` reads. */
export async function get(cli: Cli): Promise<void> {
  const { api, path } = await cli.ofService('rules');
  const answer = await api.get<{ rules: Rule[] }>(path);
  cli.printData(answer, JSON.stringify(answer, null, 2));
}

/** Replaces a service's rules with the rules in a file: a list, or an object with the list in `rules`. */
export async function set(cli: Cli, file: string): Promise<void> {
  const rules = await readRules(cli, file);
  const { api, path } = await cli.ofService('rules');
  const answer = await api.write<{ rules: Rule[] }>('PUT', path, { rules });
  cli.printOutcome(answer, `The service has ${count(answer.rules.length, 'rule')}`);
}

async function readRules(cli: Cli, file: string): Promise<unknown> {
  const text = await cli.textOf(file);
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

import type { ApiClient } from '../api-client.js';
import type { Drain } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { oneLine } from '../terminal-text.js';
import { readValues } from './stacks.js';

const PATH = '/drains';

interface AddOptions {
  name?: string;
  signals: string[];
  headers?: string;
}

export async function list(cli: Cli): Promise<void> {
  const drains = await all(await cli.client());
  const rows = drains.map((one) => [one.id, oneLine(one.endpoint), one.signals.join(','), stateOf(one)]);
  cli.printRows({ drains }, rows);
}

/** Adds a drain. Its headers are read from a file or stdin, because they are secrets. */
export async function add(cli: Cli, endpoint: string, { name, signals, headers: file }: AddOptions): Promise<void> {
  const { service } = cli.options;
  const serviceId = service === undefined ? undefined : (await cli.serviceNamed(service)).id;
  const headers = file === undefined ? undefined : await readValues(cli, file);
  const api = await cli.client();
  const { drain } = await api.write<{ drain: Drain }>('POST', PATH, { name, endpoint, signals, headers, serviceId });
  cli.printData({ drain }, drain.id);
}

/** Removes a drain. Data that it has not sent yet is never sent. */
export async function remove(cli: Cli, name: string): Promise<void> {
  const api = await cli.client();
  const found = (await all(api)).filter((one) => one.id === name || one.name === name || one.endpoint === name);
  const [drain] = found;
  if (drain === undefined) throw new CliError(EXIT.notFound, `The workspace has no drain ${name}; see rnv drains`);
  if (found.length > 1) throw new CliError(EXIT.usage, `Several drains are ${name}; use an id of rnv drains`);
  await cli.confirm(`Remove the drain to ${oneLine(drain.endpoint)}?`);
  await api.write('DELETE', `${PATH}/${drain.id}`);
  cli.printOutcome({ deleted: true }, `Removed ${name}`);
}

async function all(api: ApiClient): Promise<Drain[]> {
  return (await api.get<{ drains: Drain[] }>(PATH)).drains;
}

function stateOf({ lastError, lastSentAt, behindSeconds }: Drain): string {
  const behind = behindSeconds > 0 ? `${behindSeconds} s behind` : '';
  const state = [behind, oneLine(lastError)].filter((text) => text !== '').join(', ');
  return state || (lastSentAt === null ? 'nothing sent yet' : `last sent ${lastSentAt}`);
}

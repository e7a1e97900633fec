import type { ApiClient } from '../api-client.js';
import type { TemplateSource } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { oneLine } from '../terminal-text.js';
import { waitUntil } from '../wait-until.js';

const PATH = '/template-sources';
const POLL_INTERVAL_MS = 500;
/** Maximum time to wait for a worker, in milliseconds. The worker stops reading a repository after two minutes. */
const TIMEOUT_MS = 180_000;

export async function sources(cli: Cli): Promise<void> {
  const found = await list(await cli.client());
  const rows = found.map((one) => [one.name, oneLine(one.repository), oneLine(one.branch), outcomeOf(one)]);
  cli.printRows({ templateSources: found }, rows);
}

/** Adds a template repository, and waits until a worker has read it. */
export async function add(cli: Cli, name: string, repository: string, { branch }: { branch?: string }): Promise<void> {
  const api = await cli.client();
  const body = { name, repository, branch };
  const { templateSource } = await api.write<{ templateSource: TemplateSource }>('POST', PATH, body);
  await settle(cli, api, templateSource.id);
}

export async function refresh(cli: Cli, name: string): Promise<void> {
  const api = await cli.client();
  const { id } = await find(api, name);
  await api.write('POST', `${PATH}/${id}/refresh`);
  await settle(cli, api, id);
}

/** Removes a template repository. Stacks created from its templates are kept. */
export async function remove(cli: Cli, name: string): Promise<void> {
  const api = await cli.client();
  const { id } = await find(api, name);
  await api.write('DELETE', `${PATH}/${id}`);
  cli.printOutcome({ deleted: true }, `Removed ${name}`);
}

async function settle(cli: Cli, api: ApiClient, id: string): Promise<void> {
  const late = () =>
    new CliError(EXIT.timedOut, 'No worker has read the repository yet; rnv templates sources shows when one has');
  const source = await waitUntil(cli, { timeout: TIMEOUT_MS, late, intervalMs: POLL_INTERVAL_MS }, async () =>
    (await list(api)).find((one) => one.id === id && one.state !== 'reading'),
  );
  if (source.state === 'failed') throw new CliError(EXIT.failed, oneLine(source.error));
  if (cli.json) return cli.terminal.json({ templateSource: source });
  for (const name of source.templates) cli.terminal.data(name);
  for (const { file, message } of source.problems) cli.terminal.say(`${oneLine(file)}: ${oneLine(message)}`);
}

async function list(api: ApiClient): Promise<TemplateSource[]> {
  return (await api.get<{ templateSources: TemplateSource[] }>(`${PATH}?limit=100`)).templateSources;
}

async function find(api: ApiClient, name: string): Promise<TemplateSource> {
  const found = (await list(api)).find((one) => one.name === name || one.id === name);
  if (found !== undefined) return found;
  throw new CliError(EXIT.notFound, `The workspace has no source ${name}; see rnv templates sources`);
}

function outcomeOf({ state, error, templates, problems }: TemplateSource): string {
  if (state === 'reading') return 'is being read';
  if (state === 'failed') return oneLine(error);
  return `${templates.length} templates${problems.length === 0 ? '' : `, ${problems.length} files are none`}`;
}

import type { ApiClient } from '../api-client.js';
import type { Preview, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { followDeployment } from '../follow-deployment.js';
import { ago, oneLine, table } from '../terminal-text.js';
import type { WaitOptions } from './wait-options.js';

export async function list(cli: Cli): Promise<void> {
  const { api, path } = await placeOf(cli);
  const previews = await all(api, path);
  if (cli.json) return cli.terminal.json({ previews });
  const rows = previews.map(({ branch, status, url, expiresAt }) => [
    oneLine(branch),
    status.replace('_', ' '),
    `expires in ${ago(Date.parse(expiresAt) - Date.now())}`,
    url,
  ]);
  for (const line of table(rows)) cli.terminal.data(line);
}

/** Creates a preview of a branch, and waits until it is live. */
export async function add(cli: Cli, branch: string, options: WaitOptions): Promise<void> {
  const { api, path } = await placeOf(cli);
  const { preview } = await api.write<{ preview: Preview }>('POST', path, { branch });
  const { service } = await api.get<{ service: Service }>(`/services/${preview.serviceId}`);
  cli.terminal.say(`Creating a preview of ${oneLine(branch)}`);
  if (service.deploymentId !== null && !options.detach)
    return followDeployment(cli, { service, id: service.deploymentId }, options);
  if (cli.json) return cli.terminal.json({ preview });
  cli.terminal.data(preview.url);
}

export async function close(cli: Cli, branch: string): Promise<void> {
  const { api, path } = await placeOf(cli);
  const found = (await all(api, path)).find((preview) => preview.branch === branch || preview.id === branch);
  if (!found) throw new CliError(EXIT.notFound, `There is no preview of ${branch}`);
  await cli.confirm(`Delete the preview of ${found.branch}?`);
  await api.write('DELETE', `${path}/${found.id}`);
  if (cli.json) return cli.terminal.json({ preview: { id: found.id } });
  cli.terminal.say(`The preview of ${oneLine(found.branch)} is being deleted`);
}

async function placeOf(cli: Cli): Promise<{ api: ApiClient; path: string }> {
  const { id } = await cli.service();
  return { api: await cli.client(), path: `/services/${id}/previews` };
}

async function all(api: ApiClient, path: string): Promise<Preview[]> {
  return (await api.get<{ previews: Preview[] }>(`${path}?limit=50`)).previews;
}

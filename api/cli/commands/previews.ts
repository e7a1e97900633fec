import type { ApiClient } from '../api-client.js';
import type { Preview, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { type FollowOptions, followDeployment } from '../follow-deployment.js';
import { ago, oneLine } from '../terminal-text.js';

export async function list(cli: Cli): Promise<void> {
  const { api, path } = await cli.ofService('previews');
  const previews = await all(api, path);
  const rows = previews.map(({ branch, status, url, expiresAt }) => [
    oneLine(branch),
    status.replace('_', ' '),
    `expires in ${ago(Date.parse(expiresAt) - Date.now())}`,
    url,
  ]);
  cli.printRows({ previews }, rows);
}

/** Creates a preview of a branch, and waits until it is live. */
export async function add(cli: Cli, branch: string, options: FollowOptions): Promise<void> {
  const { api, path } = await cli.ofService('previews');
  const { preview } = await api.write<{ preview: Preview }>('POST', path, { branch });
  const { service } = await api.get<{ service: Service }>(`/services/${preview.serviceId}`);
  cli.terminal.say(`Creating a preview of ${oneLine(branch)}`);
  if (service.deploymentId !== null && !options.detach)
    return followDeployment(cli, { service, id: service.deploymentId }, options);
  cli.printData({ preview }, preview.url);
}

export async function close(cli: Cli, branch: string): Promise<void> {
  const { api, path } = await cli.ofService('previews');
  const found = (await all(api, path)).find((preview) => preview.branch === branch || preview.id === branch);
  if (!found) throw new CliError(EXIT.notFound, `There is no preview of ${branch}`);
  await cli.confirm(`Delete the preview of ${found.branch}?`);
  await api.write('DELETE', `${path}/${found.id}`);
  cli.printOutcome({ preview: { id: found.id } }, `The preview of ${oneLine(found.branch)} is being deleted`);
}

async function all(api: ApiClient, path: string): Promise<Preview[]> {
  return (await api.get<{ previews: Preview[] }>(`${path}?limit=50`)).previews;
}

import type { ApiClient } from '../api-client.js';
import type { Volume } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';

const GIGABYTE = 1_000_000_000;

export async function list(cli: Cli): Promise<void> {
  const { api, path } = await cli.ofService('volumes');
  const { volumes } = await api.get<{ volumes: Volume[] }>(path);
  cli.printRows({ volumes }, volumes.map(rowOf));
}

/** Creates a volume of `size` GB, which the next release mounts at `path`. */
export async function create(cli: Cli, name: string, options: { path: string; size: number }): Promise<void> {
  const { api, path } = await cli.ofService('volumes');
  const body = { name, mountPath: options.path, sizeGb: options.size };
  show(cli, (await api.write<{ volume: Volume }>('POST', path, body)).volume);
  cli.terminal.say('The next release mounts it: rnv deploy');
}

export async function resize(cli: Cli, name: string, { size }: { size: number }): Promise<void> {
  const { api, path } = await cli.ofService('volumes');
  const { id } = await find(api, path, name);
  show(cli, (await api.write<{ volume: Volume }>('PATCH', `${path}/${id}`, { sizeGb: size })).volume);
}

export async function remove(cli: Cli, name: string): Promise<void> {
  const { api, path } = await cli.ofService('volumes');
  const { id } = await find(api, path, name);
  await cli.confirm(`Delete the volume ${name} with all its files? They cannot be restored.`);
  await api.write('DELETE', `${path}/${id}`, { confirm: name });
  cli.printOutcome({ deleted: true }, `Deleted ${name}`);
}

async function find(api: ApiClient, path: string, name: string): Promise<Volume> {
  const { volumes } = await api.get<{ volumes: Volume[] }>(path);
  const found = volumes.find((volume) => volume.name === name || volume.id === name);
  if (found) return found;
  throw new CliError(EXIT.notFound, `The service has no volume ${name}; see rnv volumes`);
}

function rowOf({ name, mountPath, usedBytes, sizeGb, host }: Volume): string[] {
  return [name, mountPath, `${(usedBytes / GIGABYTE).toFixed(2)} of ${sizeGb} GB`, host ?? 'not mounted yet'];
}

function show(cli: Cli, volume: Volume): void {
  cli.printData({ volume }, rowOf(volume).join('  '));
}

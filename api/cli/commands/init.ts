import { basename, resolve } from 'node:path';
import type { Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { briefOf } from '../follow-deployment.js';
import { WorkTree } from '../work-tree.js';

export interface InitOptions {
  name?: string;
  kind: string;
}

/** Links a folder to the service given by --service, or to a new service deployed by `git push`. */
export async function init(cli: Cli, dir: string | undefined, options: InitOptions): Promise<void> {
  await cli.client();
  const tree = await WorkTree.open(resolve(cli.cwd, dir ?? '.'), cli.env, cli.signal);
  try {
    const named = cli.options.service === undefined ? null : await cli.service();
    if (named) await cli.link(tree.folder, named.id);
    const service = named ?? (await makeService(cli, tree, { ...options, name: await nameOf(cli, tree, options) }));
    const outcome = `${tree.folder} is linked to ${service.name}. Deploy it with rnv up`;
    cli.printOutcome({ service: briefOf(service) }, outcome);
  } finally {
    await tree.close();
  }
}

async function nameOf(cli: Cli, tree: WorkTree, { name }: InitOptions): Promise<string> {
  if (name !== undefined) return name;
  const proposed = basename(tree.folder) || 'app';
  return cli.options.yes ? proposed : cli.terminal.text('Name of the service', '--name', proposed);
}

/**
 * Creates a service that is deployed by `git push`, and links the folder to it. Throws with exit code 6 if the name is
 * taken.
 */
export async function makeService(
  cli: Cli,
  tree: WorkTree,
  { name, kind }: { name: string; kind: string },
): Promise<Service> {
  await assertFree(cli, name);
  const api = await cli.client();
  const configuration = {
    sourceType: 'push',
    branch: (await tree.branch()) ?? 'main',
    rootDirectory: tree.rootDirectory,
  };
  const { service } = await api.write<{ service: Service }>('POST', '/services', { name, kind, configuration });
  await cli.link(tree.folder, service.id);
  cli.terminal.say(`Created the service ${name}, and linked ${tree.folder} to it`);
  return service;
}

/** Throws with exit code 6 if a service of the workspace has this name and is not archived. */
export async function assertFree(cli: Cli, name: string): Promise<void> {
  const taken = (await cli.services()).find((each) => each.name === name && !each.archived);
  if (taken) throw nameTaken(taken);
}

/** Creates the error for a name that is taken. Only a service deployed by `git push` can be used with rnv up. */
export function nameTaken({ name, configuration }: Pick<Service, 'name' | 'configuration'>): CliError {
  const instead =
    configuration.sourceType === 'push'
      ? `link this folder to it with rnv init --service ${name}`
      : `deploy it with rnv deploy --service ${name}`;
  return new CliError(EXIT.conflict, `A service ${name} exists already: ${instead}, or choose another --name`);
}

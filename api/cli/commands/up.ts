import { basename, resolve } from 'node:path';
import type { ApiClient } from '../api-client.js';
import type { Deployment, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { type FollowOptions, followUnlessDetached } from '../follow-deployment.js';
import { count, oneLine, shortSha } from '../terminal-text.js';
import { waitUntil } from '../wait-until.js';
import { type Snapshot, WorkTree } from '../work-tree.js';
import { assertFree, makeService } from './init.js';

export interface UpOptions extends FollowOptions {
  name?: string;
}

const RECORDED_MS = 30_000;
const POLL_INTERVAL_MS = 500;

/** Pushes a folder's files to its service, and follows the deployment. Creates the service on first use. */
export async function up(cli: Cli, dir: string | undefined, options: UpOptions): Promise<void> {
  const { terminal } = cli;
  const api = await cli.client();
  const tree = await WorkTree.open(resolve(cli.cwd, dir ?? '.'), cli.env, cli.signal);
  try {
    const service = (await cli.namedService(tree.folder)) ?? (await firstUse(cli, tree, options));
    assertPushed(service);
    const { branch } = service.configuration;
    const snapshot = await tree.snapshot();
    terminal.say(announce(snapshot, (await tree.branch()) ?? '', service.name));
    terminal.progress('  pushing');
    const url = `${api.url}/git/${api.workspaceId}/${service.internalHost}.git`;
    const pushed = await tree.push(snapshot, { url, branch, key: api.key });
    const id = pushed === 'pushed' ? await deploymentOf(cli, api, service, snapshot) : await again(cli, api, service);
    await followUnlessDetached(cli, service, id, options);
  } finally {
    await tree.close();
  }
}

function announce({ sha, subject, changes }: Snapshot, branch: string, name: string): string {
  const what = [branch, shortSha(sha), subject === '' ? '' : `"${oneLine(subject)}"`].filter(Boolean).join(' ');
  const files = changes === 0 ? '' : ` with ${count(changes, 'uncommitted file')}`;
  return `Pushing ${what}${files} to ${oneLine(name)}`;
}

async function firstUse(cli: Cli, tree: WorkTree, { name }: UpOptions): Promise<Service> {
  const proposed = name ?? (basename(tree.folder) || 'app');
  if (!cli.options.yes && name === undefined && !cli.terminal.asks) {
    throw new CliError(
      EXIT.usage,
      `This folder is not linked to a service. Use --service, or create ${proposed} with --name or --yes`,
    );
  }
  if (name === undefined) {
    // The name is checked before the question, because the user must not be offered a name that is taken.
    await assertFree(cli, proposed);
    await cli.confirm(`Create the service ${proposed} for this folder?`, true);
  }
  return makeService(cli, tree, { name: proposed, kind: 'web' });
}

function assertPushed({ name, configuration }: Service): void {
  if (configuration.sourceType === 'push') return;
  throw new CliError(
    EXIT.conflict,
    `${name} is deployed from ${configuration.sourceType === 'image' ? 'an image' : 'a repository'}, not by push. Use rnv deploy, or create another service with rnv init --name`,
  );
}

async function deploymentOf(cli: Cli, api: ApiClient, service: Service, { sha }: Snapshot): Promise<string> {
  const late = () =>
    new CliError(EXIT.unexpected, `${shortSha(sha)} was pushed, but its deployment was not found. See rnv status`);
  const found = await waitUntil(cli, { timeout: RECORDED_MS, late, intervalMs: POLL_INTERVAL_MS }, async () => {
    const { items } = await api.once<{ items: Deployment[] }>('GET', `/services/${service.id}/deploys?limit=50`);
    return items.find(({ commitSha }) => commitSha === sha);
  });
  return found.id;
}

/** Deploys the service again. The platform already has this commit, so the push changed nothing. */
async function again(cli: Cli, api: ApiClient, { id, name }: Service): Promise<string> {
  cli.terminal.say(`  ${oneLine(name)} already has this commit: deploying it again`);
  return (await api.write<{ deployment: Deployment }>('POST', `/services/${id}/deploys`)).deployment.id;
}

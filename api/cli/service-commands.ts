import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Service } from './api-types.js';
import type { Cli } from './cli.js';
import * as backups from './commands/backups.js';
import * as tunnels from './commands/connect.js';
import * as data from './commands/data.js';
import * as domains from './commands/domains.js';
import * as env from './commands/env.js';
import * as lifecycle from './commands/lifecycle.js';
import * as previews from './commands/previews.js';
import * as rules from './commands/rules.js';
import * as runs from './commands/run.js';
import * as scaling from './commands/scale.js';
import * as shells from './commands/shell.js';
import * as volumes from './commands/volumes.js';
import { parseDuration } from './terminal-text.js';
import type { WaitOptions } from './wait-until.js';

/**
 * Helpers to declare commands. `acts` creates a command's action. `waits` adds the options of commands that wait, and
 * `verbose` adds --verbose.
 */
export interface Parts {
  acts: <Args extends unknown[]>(
    work: (cli: Cli, ...args: Args) => Promise<unknown>,
  ) => (...given: unknown[]) => Promise<void>;
  waits: (command: Command) => Command;
  verbose: (command: Command) => Command;
}

/** Adds the command `list` to a group of commands. The command also runs if only the group is named. */
export function listing(group: Command, description: string): Command {
  return group.command('list', { isDefault: true }).alias('ls').description(description);
}

export function addServiceCommands(program: Command, parts: Parts): void {
  addLife(program, parts);
  addVariables(program, parts);
  addNames(program, parts);
  addVolumes(program, parts);
  addBackups(program, parts);
  addDatabases(program, parts);
}

function addLife(program: Command, { acts, waits }: Parts): void {
  program
    .command('deployments')
    .alias('releases')
    .description('list the deployments of a service, with their ids')
    .option('-n, --lines <number>', 'the number of newest deployments to list', wholeNumber, 20)
    .action(acts(lifecycle.deployments));
  program
    .command('cancel')
    .description('cancel a deployment; by default the one that runs or waits')
    .argument('[id]', 'the id of a deployment, or its last characters')
    .action(acts(lifecycle.cancel));
  program
    .command('promote')
    .description('end the canary of a deployment: all visitors get its release')
    .argument('[id]', 'the id of a deployment, or its last characters')
    .action(acts(lifecycle.promote));
  for (const [action, what] of [
    ['restart', 'restart the replicas of a service, one by one'],
    ['suspend', 'stop all replicas of a service; its settings, variables and releases are kept'],
    ['resume', 'resume a suspended service'],
  ] as const) {
    waits(program.command(action))
      .description(what)
      .action(acts((cli, options: WaitOptions) => lifecycle.act(cli, action, options)));
  }
  program
    .command('ps')
    .description('list the replicas of a service, with their health and usage')
    .action(acts(scaling.ps));
  program
    .command('scale')
    .description('set the number of replicas, the bounds of automatic scaling, or the plan')
    .argument('[replicas]', 'the number of replicas', wholeNumber)
    .option('--min <number>', 'the minimum number of replicas, for automatic scaling', wholeNumber)
    .option('--max <number>', 'the maximum number of replicas, for automatic scaling', wholeNumber)
    .option('--plan <plan>', 'the plan: CPU and memory of each replica')
    .action(acts(scaling.scale));
  waits(program.command('run'))
    .description('run a command with the live release, print its output, and exit with its exit code')
    .argument('[service]', 'the service: its name or id')
    .argument('[command...]', 'the command, after --; without it, a cron service runs its own command')
    .option('--plan <plan>', 'the plan: CPU and memory of the command')
    .addOption(new Option('--limit <duration>', 'end the command after this time (default: 1h)').argParser(duration))
    .action(acts(runs.run));
  program
    .command('shell')
    .alias('ssh')
    .description('open a shell in a running replica')
    .argument('[service]', 'the service: its name or id')
    .action(acts(shells.shell));
  program
    .command('exec')
    .description('run a command in a running replica, and exit with its exit code')
    .argument('[service]', 'the service: its name or id')
    .argument('[command...]', 'the command, after --')
    .action(acts(shells.exec));
  program
    .command('connect')
    .description('forward a local port to a service or database in its private network')
    .argument('[service]', 'the service: its name or id')
    .option('--port <number>', 'the local port (default: a free one)', portNumber)
    .option('--to <number>', 'the port of the service (default: the one on which it listens)', portNumber)
    .action(acts(tunnels.connect));
  for (const [name, what, work] of [
    ['psql', 'open psql on this computer, connected to a database', tunnels.psql],
    ['redis-cli', 'open redis-cli on this computer, connected to a database', tunnels.redisCli],
  ] as const) {
    program
      .command(name)
      .description(what)
      .argument('<database>', 'the database: its name or id')
      .argument('[arguments...]', 'arguments for the client program, after --')
      .action(acts(work));
  }
  program.command('runs').description('list the runs of a service').action(acts(runs.runs));
}

function addVariables(program: Command, { acts }: Parts): void {
  const scope = () =>
    new Option('--scope <scope>', 'the deployments that get the variables').choices(['all', 'production', 'preview']);
  const variables = program.command('env').alias('config').description('manage the variables of a service');
  listing(variables, 'list the names of the variables').action(acts(env.list));
  variables
    .command('set')
    .description('set variables; the value is read from a prompt or from stdin')
    .argument('<key...>', 'the names of the variables')
    .addOption(scope())
    .action(acts(env.set));
  variables
    .command('unset')
    .alias('rm')
    .description('delete variables')
    .argument('<key...>', 'the names of the variables')
    .action(acts(env.unset));
  variables
    .command('push')
    .alias('import')
    .description('set the variables of a .env file or of stdin; other variables are kept')
    .argument('[file]', 'the .env file; stdin if absent')
    .addOption(scope())
    .action(acts(env.push));
  variables
    .command('pull')
    .description('add missing names to a .env file; values are never read back')
    .argument('[file]', 'the .env file (default: .env)')
    .action(acts(env.pull));
}

function addVolumes(program: Command, { acts }: Parts): void {
  const size = () =>
    new Option('--size <gigabytes>', 'the size in gigabytes').argParser(gigabytes).makeOptionMandatory();
  const folders = program.command('volumes').description('manage the volumes of a service');
  listing(folders, 'list the volumes').action(acts(volumes.list));
  folders
    .command('create')
    .description('create a volume, which the next release mounts')
    .argument('<name>', 'the name of the volume')
    .requiredOption('--path <path>', 'the path at which the volume is mounted, such as /data')
    .addOption(size())
    .action(acts(volumes.create));
  folders
    .command('resize')
    .description('make a volume larger')
    .argument('<name>', 'the name of the volume')
    .addOption(size())
    .action(acts(volumes.resize));
  folders
    .command('delete')
    .alias('rm')
    .description('delete a volume with its content')
    .argument('<name>', 'the name of the volume')
    .action(acts(volumes.remove));
}

function addBackups(program: Command, { acts, waits }: Parts): void {
  const ofService = <Args extends unknown[]>(work: OnService<Args>) =>
    acts(async (cli, ...args: Args) => work(cli, await cli.service(), ...args));
  const copies = program
    .command('backups')
    .description('manage the backups of a database or of the volumes of a service');
  listing(copies, 'list the backups').action(ofService(backups.list));
  waits(copies.command('create'))
    .description('back up now')
    .option('--pause', 'pause the service while its volumes are copied, so that all files are of one instant')
    .action(ofService(backups.create));
  waits(copies.command('restore'))
    .description('restore a backup; by default the newest good one')
    .argument('[id]', 'the id of a backup, or its last characters')
    .action(ofService(backups.restore));
}

type OnService<Args extends unknown[]> = (cli: Cli, service: Service, ...args: Args) => Promise<void>;

function gigabytes(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number of gigabytes, such as 5.');
}

function addNames(program: Command, { acts, waits, verbose }: Parts): void {
  const names = program.command('domains').description('manage the custom domains of a service');
  listing(names, 'list the domains').action(acts(domains.list));
  for (const [name, what, work] of [
    ['add', 'add a domain, and show the DNS record to create', domains.add],
    ['verify', 'check the DNS record of a domain now', domains.verify],
    ['remove', 'remove a domain', domains.remove],
  ] as const) {
    names
      .command(name)
      .description(what)
      .argument('<hostname>', 'the host name, such as shop.example.com')
      .action(acts(work));
  }
  names
    .command('redirect')
    .description('redirect a domain to another host, or with --off serve it again')
    .argument('<hostname>', 'the host name, such as example.com')
    .argument('[to]', 'the host name that visitors are sent to, such as www.example.com')
    .option('--off', 'end the redirect')
    .action(acts(domains.redirect));
  const rulebook = program.command('rules').description('see and set the rules of the edge for a service');
  rulebook.command('get', { isDefault: true }).description('print the rules as JSON').action(acts(rules.get));
  rulebook
    .command('set')
    .description('replace the rules by those of a JSON file')
    .argument('<file>', 'the file, or - for the standard input')
    .action(acts(rules.set));
  const branches = program.command('previews').description('manage the previews of a service');
  listing(branches, 'list the previews').action(acts(previews.list));
  verbose(waits(branches.command('create')))
    .alias('add')
    .description('create a preview of a branch')
    .argument('<branch>', 'the name of the branch')
    .action(acts(previews.add));
  branches
    .command('delete')
    .alias('close')
    .description('delete the preview of a branch')
    .argument('<branch>', 'the name of the branch')
    .action(acts(previews.close));
}

function addDatabases(program: Command, { acts, waits, verbose }: Parts): void {
  const ofDatabase = <Args extends unknown[]>(work: OnService<Args>) =>
    acts(async (cli, name: string, ...args: Args) => work(cli, await data.find(cli, name), ...args));
  const databases = program.command('db').description('manage the databases of the workspace');
  listing(databases, 'list the databases').action(acts(data.list));
  verbose(waits(databases.command('create')))
    .description('create a database')
    .argument('<kind>', 'postgres or redis', oneOf('postgres', 'redis'))
    .option('--name <name>', 'the name of the database')
    .option('--plan <plan>', 'the plan of the database')
    .action(acts(data.create));
  databases
    .command('attach')
    .description('set a variable of a service to the URL of a database')
    .argument('<database>', 'the database: its name or id')
    .option('--as <key>', 'the name of the variable (default: DATABASE_URL or REDIS_URL)')
    .action(acts(data.attach));
  databases
    .command('backups')
    .description('list the backups of a database')
    .argument('<database>', 'the database: its name or id')
    .action(ofDatabase(backups.list));
  waits(databases.command('backup'))
    .description('back up a database now')
    .argument('<database>', 'the database: its name or id')
    .action(ofDatabase(backups.create));
  waits(databases.command('restore'))
    .description('restore a database from a backup; by default from the newest successful one')
    .argument('<database>', 'the database: its name or id')
    .argument('[id]', 'the id of a backup, or its last characters')
    .action(ofDatabase(backups.restore));
}

/** Parses a duration such as 15m into milliseconds. Throws InvalidArgumentError if the text is not a duration. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === null || ms <= 0) throw new InvalidArgumentError('It must be a duration such as 90s, 15m or 2h.');
  return ms;
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (text === '' || !Number.isInteger(number) || number < 0)
    throw new InvalidArgumentError('It must be a whole number.');
  return number;
}

function portNumber(text: string): number {
  const number = wholeNumber(text);
  if (number < 1 || number > 65_535) throw new InvalidArgumentError('It must be a number from 1 to 65535.');
  return number;
}

function oneOf(...words: string[]) {
  return (text: string): string => {
    if (words.includes(text)) return text;
    throw new InvalidArgumentError(`It must be ${words.join(' or ')}.`);
  };
}

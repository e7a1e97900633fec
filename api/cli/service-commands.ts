import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Cli } from './cli.js';
import * as data from './commands/data.js';
import * as domains from './commands/domains.js';
import * as env from './commands/env.js';
import * as lifecycle from './commands/lifecycle.js';
import * as previews from './commands/previews.js';
import * as runs from './commands/run.js';
import * as scaling from './commands/scale.js';
import { parseDuration } from './terminal-text.js';

/** How the commands are added: `acts` runs a function with arguments and options, `waits` adds the options of waiting. */
export interface Parts {
  acts: <Args extends unknown[]>(
    work: (cli: Cli, ...args: Args) => Promise<unknown>,
  ) => (...given: unknown[]) => Promise<void>;
  waits: (command: Command) => Command;
  verbose: (command: Command) => Command;
}

/** Adds the commands about what belongs to one service. */
export function addServiceCommands(program: Command, parts: Parts): void {
  addLife(program, parts);
  addVariables(program, parts);
  addNames(program, parts);
  addDatabases(program, parts);
}

function addLife(program: Command, { acts, waits }: Parts): void {
  program
    .command('deployments')
    .description('list deployments with the ids that rollback, cancel and logs take')
    .option('-n, --lines <number>', 'how many of the newest', wholeNumber, 20)
    .action(acts(lifecycle.deployments));
  program
    .command('cancel')
    .description('cancel the deployment that runs or waits, or the one that is named')
    .argument('[id]', 'the id of the deployment, or the end of it')
    .action(acts(lifecycle.cancel));
  for (const [action, what] of [
    ['restart', 'replace the replicas, one after another'],
    ['suspend', 'end the replicas; settings, variables and releases stay'],
    ['resume', 'start a suspended service again'],
  ] as const) {
    waits(program.command(action))
      .description(what)
      .action(acts((cli, options: Parameters<typeof lifecycle.act>[2]) => lifecycle.act(cli, action, options)));
  }
  program.command('ps').description('show replicas, what they use, and how they are').action(acts(scaling.ps));
  program
    .command('scale')
    .description('change the number of replicas, or between how many it scales by use')
    .argument('[replicas]', 'how many', wholeNumber)
    .option('--min <number>', 'the fewest, if it scales by use', wholeNumber)
    .option('--max <number>', 'the most, if it scales by use', wholeNumber)
    .option('--plan <plan>', 'processor and memory of each replica')
    .action(acts(scaling.scale));
  waits(program.command('run'))
    .description('run a command with the live release, print what it prints, and end with its exit code')
    .argument('[service]', 'the service, if the folder is not linked')
    .argument('[command...]', 'what follows --; a cron service runs its own without it')
    .option('--plan <plan>', 'processor and memory of the command')
    .addOption(new Option('--limit <duration>', 'end the command after this time (default: 1h)').argParser(duration))
    .action(
      acts((cli, service: string | undefined, command: string[], options: runs.RunOptions) =>
        runs.run(cli, service === undefined ? command : [service, ...command], options),
      ),
    );
  program.command('runs').description('list the runs of a service').action(acts(runs.runs));
}

function addVariables(program: Command, { acts }: Parts): void {
  const scope = () =>
    new Option('--scope <scope>', 'which deployments get them').choices(['all', 'production', 'preview']);
  const variables = program.command('env').description('variables of a service');
  variables.command('list', { isDefault: true }).description('list names').action(acts(env.list));
  variables
    .command('set')
    .description('set variables; the value comes by prompt or stdin')
    .argument('<key...>')
    .addOption(scope())
    .action(acts(env.set));
  variables
    .command('unset')
    .description('delete variables')
    .argument('<key...>')
    .action(acts((cli, keys: string[]) => env.unset(cli, keys)));
  variables
    .command('push')
    .alias('import')
    .description('set the variables of a .env file, or of stdin; others stay')
    .argument('[file]')
    .addOption(scope())
    .action(acts(env.push));
  variables
    .command('pull')
    .description('add the names that a .env file lacks to it; values are never read back')
    .argument('[file]', 'the file (default: .env)')
    .action(acts((cli, file?: string) => env.pull(cli, file)));
}

function addNames(program: Command, { acts, waits, verbose }: Parts): void {
  const names = program.command('domains').description('host names of a service');
  names.command('list', { isDefault: true }).description('list them').action(acts(domains.list));
  for (const [name, what, work] of [
    ['add', 'add a host name, and show the record that proves it', domains.add],
    ['verify', 'look for the record', domains.verify],
    ['remove', 'remove a host name', domains.remove],
  ] as const) {
    names
      .command(name)
      .description(what)
      .argument('<hostname>')
      .action(acts((cli, hostname: string) => work(cli, hostname)));
  }
  const branches = program.command('previews').description('other branches of a service, at addresses of their own');
  branches.command('list', { isDefault: true }).description('list them').action(acts(previews.list));
  verbose(waits(branches.command('add')))
    .description('show a branch')
    .argument('<branch>')
    .action(acts(previews.add));
  branches
    .command('close')
    .description('close the preview of a branch')
    .argument('<branch>')
    .action(acts((cli, branch: string) => previews.close(cli, branch)));
}

function addDatabases(program: Command, { acts, waits, verbose }: Parts): void {
  const databases = program.command('db').description('databases, which are reached on the private network alone');
  databases.command('list', { isDefault: true }).description('list them').action(acts(data.list));
  verbose(waits(databases.command('create')))
    .description('make a database')
    .argument('<kind>', 'postgres or redis', oneOf('postgres', 'redis'))
    .option('--name <name>', 'its name')
    .option('--plan <plan>', 'its plan')
    .action(acts(data.create));
  databases
    .command('attach')
    .description('give a service the address of a database as a variable')
    .argument('<database>')
    .option('--as <key>', 'the name of the variable (default: DATABASE_URL or REDIS_URL)')
    .action(acts(data.attach));
  databases
    .command('backups')
    .description('list the backups')
    .argument('<database>')
    .action(acts((cli, name: string) => data.backups(cli, name)));
  waits(databases.command('backup')).description('make a backup').argument('<database>').action(acts(data.backup));
  waits(databases.command('restore'))
    .description('replace what a database holds by the newest good backup, or by the one that is named')
    .argument('<database>')
    .argument('[id]', 'the id of the backup, or the end of it')
    .action(acts(data.restore));
}

/** Returns the milliseconds of a duration such as 15m. Throws InvalidArgumentError. */
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

function oneOf(...words: string[]) {
  return (text: string): string => {
    if (words.includes(text)) return text;
    throw new InvalidArgumentError(`It must be ${words.join(' or ')}.`);
  };
}

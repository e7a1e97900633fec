import { Command, InvalidArgumentError, Option } from 'commander';
import { Cli, type GlobalOptions, type Surroundings } from './cli.js';
import * as deploying from './commands/deploy.js';
import { init } from './commands/init.js';
import { login } from './commands/login.js';
import { logout, whoami } from './commands/logout.js';
import { logs } from './commands/logs.js';
import * as status from './commands/status.js';
import { up } from './commands/up.js';
import { addServiceCommands, duration, type Parts } from './service-commands.js';

const NOTES = `
RNV_URL, RNV_KEY and RNV_SERVICE replace the address, the key and the service that are stored. Data goes to stdout, everything else to
stderr. Exit codes: 0 done, 1 unexpected, 2 usage, 3 not signed in, 4 forbidden, 5 not found, 6 conflict, 7 rate limited, 8 unreachable,
20 failed, 21 cancelled, 22 timed out (it goes on), 130 interrupted (it goes on). rnv run ends with the exit code of the command that it was given.
`;

const KINDS = ['web', 'static', 'private', 'worker', 'cron'];

/** Returns the commands of `rnv`. Their actions reject with CliError. */
export function createProgram(surroundings: Surroundings, version: string): Command {
  const program = new Command('rnv')
    .description('Deploys to a Ranvier installation')
    .version(version)
    .option('-s, --service <name>', 'the service: its name or id')
    .option('-w, --workspace <name>', 'the workspace: its name or id')
    .option('--json', 'print one JSON document; with --follow one object a line')
    .option('-y, --yes', 'answer yes to every question')
    .option('-q, --quiet', 'print no progress')
    .option('--no-color', 'print no colours')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(--help shows what there is)')
    .exitOverride()
    .addHelpText('after', NOTES);

  /** Runs a command's function with its arguments and options. */
  const acts: Parts['acts'] = <Args extends unknown[]>(work: (cli: Cli, ...args: Args) => Promise<unknown>) => {
    return async (...given: unknown[]) => {
      given.pop();
      await work(new Cli(surroundings, program.opts<GlobalOptions>()), ...(given as Args));
    };
  };
  const waits = (command: Command) =>
    command
      .option('--detach', 'do not wait for the end')
      .addOption(
        new Option('--timeout <duration>', 'wait no longer than this, such as 90s or 10m')
          .argParser(duration)
          .default(30 * 60_000, '30m'),
      );
  const verbose = (command: Command) => command.option('-v, --verbose', 'print the log');

  program
    .command('login')
    .description('sign in, and store a new key')
    .option('--url <address>', 'the address of the installation')
    .option('--email <address>', 'the e-mail address; without a terminal, the password comes by stdin')
    .option('--key', 'store a key that comes by stdin')
    .action(acts(login));
  program
    .command('logout')
    .description('revoke and forget the key that rnv login made')
    .option('--url <address>', 'of this installation')
    .option('--all', 'of every installation and workspace')
    .action(acts(logout));
  program.command('whoami').description('show who is signed in, and where').action(acts(whoami));
  program
    .command('init')
    .description('link a folder to a service; without --service, make one that is deployed by rnv up')
    .argument('[dir]', 'the folder')
    .option('--name <name>', 'the name of the new service')
    .addOption(new Option('--kind <kind>', 'the kind of the new service').choices(KINDS).default('web'))
    .action(acts(init));
  verbose(waits(program.command('up')))
    .description('deploy the files of this folder')
    .argument('[dir]', 'the folder')
    .option('--name <name>', 'the name of the service, if it has to be made')
    .action(acts(up));
  verbose(waits(program.command('deploy')))
    .description('deploy a service from its repository')
    .option('--branch <branch>', 'another branch than the configured one')
    .option('--commit <sha>', 'this commit')
    .option('--clear-cache', 'build without the cache')
    .action(acts(deploying.deploy));
  program
    .command('status')
    .description('show what serves, what is deployed and what waits')
    .action(acts(status.status));
  program.command('services').alias('ls').description('list the services').action(acts(status.services));
  program
    .command('logs')
    .description('print the log of a service')
    .option('-f, --follow', 'print lines as they come')
    .option('-n, --lines <number>', 'how many of the newest lines', lineCount, 100)
    .option('--since <duration>', 'lines of the last 90s, 15m, 2h or 3d', duration)
    .addOption(new Option('--source <source>', 'lines of this source').choices(['build', 'runtime', 'system']))
    .option('--search <text>', 'lines that contain a text')
    .option('--deployment <id>', 'lines of one deployment: its id, or the end of it')
    .action(acts(logs));
  program
    .command('open')
    .description('open the address of a service in a browser')
    .option('--console', 'open its page in the console')
    .action(acts(status.open));

  verbose(waits(program.command('rollback')))
    .description('deploy an earlier release again: the one before, or the one that is named')
    .argument('[id]', 'the id of its deployment, or the end of it')
    .action(acts(deploying.rollback));
  addServiceCommands(program, { acts, waits, verbose });
  return program;
}

function lineCount(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 100_000)
    throw new InvalidArgumentError('It must be a number from 0 to 100000.');
  return number;
}

import { Command, InvalidArgumentError, Option } from 'commander';
import { Cli, type GlobalOptions, type Surroundings } from './cli.js';
import * as deploying from './commands/deploy.js';
import { init } from './commands/init.js';
import { login } from './commands/login.js';
import { logout, whoami } from './commands/logout.js';
import { logs } from './commands/logs.js';
import { mcp } from './commands/mcp.js';
import * as status from './commands/status.js';

import { up } from './commands/up.js';
import { addExamples } from './examples.js';
import { addServiceCommands, duration, type Parts } from './service-commands.js';
import { addStackCommands } from './stack-commands.js';
import { addWorkspaceCommands } from './workspace-commands.js';

const NOTES = `
The variables RNV_URL, RNV_KEY and RNV_SERVICE take precedence over the stored address, key and service. Data goes to stdout, everything
else to stderr. Exit codes: 0 success, 1 unexpected error, 2 wrong usage, 3 not signed in, 4 forbidden, 5 not found, 6 conflict,
7 rate limited, 8 unreachable, 20 failed, 21 cancelled, 22 timed out, 130 interrupted. After 22 and 130 the deployment goes on.
rnv run and rnv exec end with the exit code of the command after --, rnv shell with that of the shell.

Examples:
  $ rnv login --url https://ranvier.example.com
  $ rnv up
`;

const KINDS = ['web', 'static', 'private', 'worker', 'cron'];

/** Builds the `rnv` commands. Their actions reject with CliError. */
export function createProgram(surroundings: Surroundings, version: string): Command {
  const program = new Command('rnv')
    .description('Deploys and manages services of a Ranvier installation')
    .version(version)
    .option('-s, --service <name>', 'the name or id of the service')
    .option('-w, --workspace <name>', 'the name or id of the workspace')
    .option('--json', 'print JSON: one document, or with --follow one object per line')
    .option('-y, --yes', 'answer yes to every question')
    .option('-q, --quiet', 'do not print progress')
    .option('--no-color', 'do not print colours')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(run it with --help for the usage and an example)')
    .exitOverride()
    .addHelpText('after', NOTES);

  const acts: Parts['acts'] = <Args extends unknown[]>(work: (cli: Cli, ...args: Args) => Promise<unknown>) => {
    return async (...given: unknown[]) => {
      given.pop();
      await work(new Cli(surroundings, program.opts<GlobalOptions>()), ...(given as Args));
    };
  };
  const waits = (command: Command) =>
    command
      .option('--detach', 'return at once, without waiting for the end')
      .addOption(
        new Option('--timeout <duration>', 'the longest time to wait, such as 90s or 10m')
          .argParser(duration)
          .default(30 * 60_000, '30m'),
      );
  const verbose = (command: Command) => command.option('-v, --verbose', 'print the log while waiting');

  program
    .command('login')
    .description('sign in, and store a new API key')
    .option('--url <address>', 'the address of the installation')
    .option('--email <address>', 'your e-mail address; without a terminal, the password is read from stdin')
    .option('--key', 'store the API key that is read from stdin')
    .action(acts(login));
  program
    .command('logout')
    .description('revoke and forget the API key that rnv login has created')
    .option('--url <address>', 'sign out of this installation')
    .option('--all', 'sign out of all installations and workspaces')
    .action(acts(logout));
  program
    .command('whoami')
    .description('show the signed-in user, the workspace and the installation')
    .action(acts(whoami));
  program
    .command('init')
    .description('link a folder to a service; without --service, create the service')
    .argument('[dir]', 'the folder (default: the current folder)')
    .option('--name <name>', 'the name of the new service')
    .addOption(new Option('--kind <kind>', 'the kind of the new service').choices(KINDS).default('web'))
    .action(acts(init));
  verbose(waits(program.command('up')))
    .description('deploy the files of a folder; create its service on first use')
    .argument('[dir]', 'the folder (default: the current folder)')
    .option('--name <name>', 'the name of the service, if it has to be created')
    .action(acts(up));
  verbose(waits(program.command('deploy')))
    .description('deploy a service from its repository')
    .option('--branch <branch>', 'deploy this branch instead of the configured one')
    .option('--commit <sha>', 'deploy this commit')
    .option('--clear-cache', 'clear the build cache first')
    .action(acts(deploying.deploy));
  program
    .command('status')
    .description('show each service with its live release and its open deployments')
    .action(acts(status.status));
  program
    .command('services')
    .alias('ls')
    .description('list the services of the workspace')
    .action(acts(status.services));
  program
    .command('logs')
    .description('print the log of a service')
    .option('-f, --follow', 'keep printing new lines')
    .option('-n, --lines <number>', 'the number of newest lines to print', lineCount, 100)
    .option('--since <duration>', 'only lines of this period: 90s, 15m, 2h or 3d', duration)
    .addOption(new Option('--source <source>', 'only lines of this source').choices(['build', 'runtime', 'system']))
    .option('--search <text>', 'only lines that contain this text')
    .option('--deployment <id>', 'only lines of this deployment: its id, or its last characters')
    .action(acts(logs));
  program
    .command('open')
    .description('open the URL of a service in the browser')
    .option('--console', 'open the page of the service in the console instead')
    .action(acts(status.open));

  program
    .command('mcp')
    .description('serve the tools of the installation to an agent, on stdin and stdout')
    .action(acts(mcp));
  verbose(waits(program.command('rollback')))
    .description('roll back to an earlier release; by default to the previous one')
    .argument('[id]', 'the id of the deployment to return to, or its last characters')
    .action(acts(deploying.rollback));
  const parts = { acts, waits, verbose };
  addServiceCommands(program, parts);
  addStackCommands(program, parts);
  addWorkspaceCommands(program, parts);
  addExamples(program);
  return program;
}

function lineCount(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 100_000)
    throw new InvalidArgumentError('It must be a number from 0 to 100000.');
  return number;
}

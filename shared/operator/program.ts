import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command, CommanderError } from 'commander';
import { errorMessage } from '../core/error-registry.js';
import { VERSION } from '../core/version.js';
import { doctor } from './doctor.js';
import { addInstallCommands } from './install/install-commands.js';
import { PACKAGE_ROOT } from './package-root.js';

/** Runs a `ranvier` command line. Returns the exit code: 1 if the command failed, 2 if the command line is invalid. */
export async function runOperator(args: readonly string[]): Promise<number> {
  let code = 0;
  const program = new Command('ranvier')
    .description('run, install and check the Ranvier platform on this host')
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError();
  program
    .command('start')
    .description('run the whole platform in the foreground, with a database of its own (as "npm start" does)')
    .argument('[procfile]', "a Procfile that replaces the package's own")
    .action(async (procfile?: string) => {
      await runPart('dist/shared/launcher/launch.js', procfile === undefined ? [] : [procfile]);
    });
  program
    .command('doctor')
    .description('check what this host lacks, and whether the platform works')
    .option('--json', 'print one JSON document')
    .action(async ({ json }: { json?: boolean }) => {
      code = await doctor(json === true);
    });
  addInstallCommands(program);
  program
    .command('admin')
    .description('manage users, workspaces, keys and plans: see "ranvier admin --help"')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[args...]')
    .action(async (_: string[], __: unknown, command: Command) => {
      await runPart('dist/api/admin/main.js', command.args);
    });
  program
    .command('migrate')
    .description('bring the database at DATABASE_URL to this version')
    .action(async () => {
      await runPart('dist/migrations/main.js');
    });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`${errorMessage(error)}\n`);
    return 1;
  }
}

/** Runs another entry point in this process, which parses the arguments and sets the exit code itself. */
async function runPart(path: string, args: readonly string[] = []): Promise<void> {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
  await import(pathToFileURL(join(PACKAGE_ROOT, path)).href);
}

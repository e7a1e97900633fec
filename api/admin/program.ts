import { Command, CommanderError } from 'commander';
import { type Environment, loadDatabaseSettings } from '../../shared/core/config.js';
import { createDatabase, type Db } from '../../shared/core/database/database-client.js';
import { assertMigrated } from '../../shared/core/database/migrate.js';
import { AppError, errorMessage } from '../../shared/core/error-registry.js';
import { embeddedUrl } from '../../shared/launcher/postgres-address.js';
import { addCommands, type Output } from './commands.js';
import { refuseSwallowedOptions } from './option-values.js';

export interface Surroundings {
  /** If absent, the environment of this process is used. */
  env?: Environment | undefined;
  stdout: (text: string) => void;
  stderr: (text: string) => void;
}

const NOTES = `
"user reset-mfa" is for a lost authenticator. The password alone signs in again. If a workspace requires MFA, the user and
the user's keys only read until another authenticator is enrolled.
"secrets rotate" opens what SECRETS_KEY or one of SECRETS_KEY_PREVIOUS (a comma list) sealed.
"secrets forget": what the lost key sealed (variables, releases, second factors) stays closed and has to be set again.
The database is DATABASE_URL, or else the embedded one of DATA_DIR while "npm start" runs.
`;

/**
 * Runs a command line of `npm run admin --`. Returns the exit code: 0, 1 if the command failed, or 2 if the command
 * line is invalid.
 */
export async function runAdmin(args: readonly string[], surroundings: Surroundings): Promise<number> {
  let code = 0;
  try {
    await createProgram(surroundings, () => {
      code = 1;
    }).parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander has already printed its message and the usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    surroundings.stderr(`${errorMessage(error)}${error instanceof AppError ? ` (${error.code})` : ''}\n`);
    return 1;
  }
}

function createProgram({ env, stdout, stderr }: Surroundings, fail: () => void): Command {
  const program = new Command('npm run admin --')
    .option('--json', 'print one JSON document')
    .exitOverride()
    .configureOutput({ writeOut: stdout, writeErr: stderr })
    .showHelpAfterError()
    .configureHelp({
      showGlobalOptions: true,
      // Lists every command with its options, not only the groups.
      visibleCommands: ({ commands }) =>
        commands.flatMap((command) => (command.commands.length === 0 ? [command] : command.commands)),
      subcommandTerm: (command) => termOf(command),
      subcommandDescription: () => '',
    })
    .addHelpText('after', NOTES);
  addCommands(program, async (work) => {
    const db = await connect(env);
    try {
      const output = await work(db, { env, fail });
      stdout(program.opts().json ? `${JSON.stringify(output)}\n` : forPeople(output));
    } finally {
      await db.destroy();
    }
  });
  for (const command of program.commands.flatMap(({ commands }) => commands)) refuseSwallowedOptions(command);
  return program;
}

function termOf(command: Command): string {
  const options = command.options.map(({ flags, mandatory }) => (mandatory ? flags : `[${flags}]`));
  return [command.parent?.name(), command.name(), ...options].join(' ');
}

async function connect(env: Environment | undefined): Promise<Db> {
  const { databaseUrl, dataDir } = loadDatabaseSettings(env);
  const url = databaseUrl ?? (await embeddedUrl(dataDir));
  if (url === null) {
    throw new Error(
      `DATABASE_URL is not set and ${dataDir} has no embedded database: run "npm start" first, or set it`,
    );
  }
  const db = createDatabase({ url, name: 'ranvier-admin', poolSize: 1 });
  try {
    await assertMigrated(db);
    return db;
  } catch (error) {
    await db.destroy();
    if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
    throw new Error(
      databaseUrl === null
        ? `the embedded database of ${dataDir} is not running: run "npm start" first, or set DATABASE_URL`
        : 'nothing listens at DATABASE_URL',
    );
  }
}

function forPeople(output: Output): string {
  const items = Array.isArray(output) ? output : [output];
  if (items.length === 0) return 'none\n';
  const line = ([name, value]: [string, unknown]) =>
    `${name}: ${value instanceof Date ? value.toISOString() : typeof value === 'object' ? JSON.stringify(value) : value}\n`;
  return items.map((item) => Object.entries(item).map(line).join('')).join('\n');
}

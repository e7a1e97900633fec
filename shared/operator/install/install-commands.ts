import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { errorMessage } from '../../core/error-registry.js';
import { checkHost, findingLines } from '../check-host.js';
import { readFacts } from '../read-facts.js';
import { type InstallOptions, install } from './install.js';
import { parseSettings } from './settings-file.js';
import { systemd } from './systemd.js';
import { uninstall } from './uninstall.js';
import { upgrade } from './upgrade.js';

const READY_MS = 120_000;
const POLL_INTERVAL_MS = 300;
const ANSWER_MS = 5_000;

interface Flags {
  root: string;
  dataDir: string;
  settings: string;
  units: string;
  links: string;
  port: number;
  edgePort: number;
  databaseUrl?: string;
  force?: boolean;
  purge?: boolean;
}

/** Adds the commands that change the host: install, upgrade and uninstall. */
export function addInstallCommands(program: Command): void {
  withPlaces(program.command('install'))
    .description('install this version as services of systemd, with a user, folders, settings and the first owner')
    .option('--database-url <url>', 'a PostgreSQL of your own, in place of the one that comes along')
    .option('--port <number>', 'where the API listens', portOf, 3000)
    .option('--edge-port <number>', 'where visitors connect', portOf, 80)
    .option('--force', 'install although something is missing')
    .action(async (flags: Flags) => {
      const options = await optionsOf(flags);
      const findings = checkHost(await readFacts(await settingsOf(flags)));
      const isInstalled = findings.some(({ name, state }) => name === 'database' && state === 'ok');
      const wrong = findings.filter(({ state }) => state !== 'ok');
      if (wrong.length > 0) process.stdout.write(findingLines(wrong));
      if (!isInstalled && !flags.force && wrong.some(({ state }) => state === 'missing')) {
        throw new Error('install what is missing first, or use --force');
      }
      await install(options);
      if (options.manager !== null) await ready(options.ports.api);
    });
  withPlaces(program.command('upgrade'))
    .description('replace the installed version by this one; applications keep serving')
    .action(async (flags: Flags) => {
      const settings = await settingsOf(flags);
      const { manager, ...options } = await optionsOf(flags);
      if (manager === null) throw new Error('systemd does not run here');
      await upgrade({ ...options, manager, settings, ready: () => ready(Number(settings.PORT)) });
    });
  withPlaces(program.command('uninstall'))
    .description('remove the services, what they host, and the commands; keep data and settings')
    .option('--purge', 'remove data and settings too')
    .action(async (flags: Flags) => uninstall(await optionsOf(flags), { isPurged: flags.purge === true }));
}

function withPlaces(command: Command): Command {
  return command
    .option('--root <folder>', 'the folder of the installed versions', '/opt/ranvier')
    .option('--data-dir <folder>', 'the folder of the data', '/var/lib/ranvier')
    .option('--settings <file>', 'the file of the settings', '/etc/ranvier/ranvier.env')
    .option('--units <folder>', "the folder of systemd's units", '/etc/systemd/system')
    .option('--links <folder>', 'the folder of the commands ranvier and rnv', '/usr/local/bin');
}

function portOf(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65_535) {
    throw new InvalidArgumentError('it must be a number from 1 to 65535.');
  }
  return Number(text);
}

async function optionsOf(flags: Flags): Promise<InstallOptions> {
  if (process.getuid?.() !== 0) throw new Error('run it as root: it creates a user and services');
  const settings = await settingsOf(flags);
  const databaseUrl = flags.databaseUrl ?? null;
  const isKeptEmbedded = settings.DATABASE_URL?.includes(encodeURIComponent(flags.dataDir)) ?? true;
  return {
    ...{ root: flags.root, dataDir: flags.dataDir, settingsFile: flags.settings, databaseUrl },
    ports: { api: Number(settings.PORT ?? flags.port), edge: Number(settings.EDGE_PORT ?? flags.edgePort) },
    isEmbedded: databaseUrl === null && isKeptEmbedded,
    paths: { unitFolder: flags.units, linkFolder: flags.links },
    manager: await systemd(),
    say: (line) => process.stdout.write(`${line}\n`),
  };
}

/** The settings in the file take precedence over the command line. */
async function settingsOf({ settings, dataDir, port, edgePort }: Flags): Promise<Record<string, string>> {
  const text = await readFile(settings, 'utf8').catch(() => '');
  const given = {
    DATA_DIR: dataDir,
    ...(port ? { PORT: String(port) } : {}),
    ...(edgePort ? { EDGE_PORT: String(edgePort) } : {}),
  };
  return { ...given, ...parseSettings(text) };
}

async function ready(port: number): Promise<void> {
  const deadline = Date.now() + READY_MS;
  let answer = '';
  while (Date.now() < deadline) {
    // systemd's socket accepts connections before the API runs, so each request has a timeout.
    const response = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(
      (error: unknown) => errorMessage(error),
    );
    if (typeof response !== 'string' && response.ok) return;
    answer = typeof response === 'string' ? response : await response.text();
    await delay(POLL_INTERVAL_MS);
  }
  throw new Error(`the API is not ready (${answer.slice(0, 200)}): journalctl -u ranvier-api`);
}

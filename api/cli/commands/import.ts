import { readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, normalize, relative, resolve, sep } from 'node:path';
import type { StackImportFormat } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { freeStackFile, STACK_FILE } from '../stack-file.js';
import { oneLine } from '../terminal-text.js';

interface Answer {
  document: string;
  lost: string[];
  notes: string[];
}

export interface ImportOptions {
  format?: string;
  repository?: string;
  force?: boolean;
}

const FORMATS: Readonly<Record<StackImportFormat, RegExp>> = {
  compose: /^(docker-)?compose(\.[\w-]+)*\.ya?ml$/i,
  render: /^render\.ya?ml$/i,
  heroku: /^(app\.json|procfile)$/i,
  fly: /^fly(\.[\w-]+)*\.toml$/i,
  railway: /^railway(\.[\w-]+)*\.(json|toml)$/i,
  kamal: /^deploy(\.[\w-]+)*\.ya?ml$/i,
};

/** Converts another platform's file to ranvier.yaml, and prints what could not be converted. */
export async function importFile(cli: Cli, file: string, options: ImportOptions): Promise<void> {
  const path = resolve(cli.cwd, file);
  const format = formatOf(path, options);
  const text = await read(path);
  if (text === null) throw new CliError(EXIT.usage, `${path} cannot be read`);
  const target = await freeStackFile(cli, options);
  const api = await cli.client();
  const folder = await folderInRepository(dirname(path));
  const body = {
    format,
    document: format === 'heroku' ? await withProcfile(path, text) : text,
    folder,
    files: format === 'compose' ? await filesBeside(path, text, folder) : {},
    repository: options.repository,
  };
  const { document, lost, notes } = await api.write<Answer>('POST', '/stacks/import', body);
  await writeFile(target, document);
  if (cli.json) return cli.terminal.json({ file: target, format, lost, notes });
  for (const line of lost) cli.terminal.complain(oneLine(line));
  for (const line of notes) cli.terminal.complain(`note: ${oneLine(line)}`);
  cli.terminal.say(`Wrote ${STACK_FILE}. See what it would change with rnv plan`);
}

/** Returns the format given by the option, or else by the file's name. Throws `CliError` if this is no known format. */
export function formatOf(path: string, { format }: Pick<ImportOptions, 'format'>): string {
  const formats = Object.entries(FORMATS);
  const found = format ?? formats.find(([, name]) => name.test(basename(path)))?.[0];
  const known = formats.map(([name]) => name);
  if (found !== undefined && known.includes(found)) return found;
  const problem =
    format === undefined ? `The name of ${basename(path)} does not say its format` : `There is no format ${format}`;
  throw new CliError(EXIT.usage, `${problem}: give --format as one of ${known.join(', ')}`);
}

/** Returns the path of a folder relative to the root of its git repository, or '' outside a repository. */
async function folderInRepository(folder: string): Promise<string> {
  for (let root = folder; ; root = dirname(root)) {
    const isRoot = await stat(join(root, '.git')).then(
      () => true,
      () => false,
    );
    if (isRoot) return relative(root, folder).split(sep).join('/');
    if (root === dirname(root)) return '';
  }
}

/**
 * Returns the texts of app.json and the Procfile in one text, as the API reads them. `path` is one of these files, and
 * `text` its content.
 */
async function withProcfile(path: string, text: string): Promise<string> {
  const isProcfile = /^procfile$/i.test(basename(path));
  const other = await read(resolve(dirname(path), isProcfile ? 'app.json' : 'Procfile'));
  if (other === null) return text;
  return isProcfile ? `${other}\n${text}` : `${text}\n${other}`;
}

/** Returns name → content of .env and of the files that `env_file` in a Compose file refers to. */
async function filesBeside(path: string, text: string, folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const named = new Set([
    '.env',
    ...[...text.matchAll(/(?:env_file:|-|path:)\s*['"]?([\w./-]*\.env[\w.-]*)/g)].map(([, name = '']) => name),
  ]);
  for (const name of named) {
    // A file outside the repository must not be uploaded.
    if (name.startsWith('/') || normalize(`${folder}/${name}`.replace(/^\/+/, '')).startsWith('..')) continue;
    const content = await read(resolve(dirname(path), name));
    if (content !== null) files[name] = content;
  }
  return files;
}

function read(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}

import { readFile, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ApiClient, send } from './api-client.js';
import type { Service, Workspace } from './api-types.js';
import { CliError, EXIT } from './exit-codes.js';
import { type Login, readSettings, type Settings, settingsPath, writeSettings } from './settings-file.js';
import { type Streams, Terminal } from './terminal.js';
import { table } from './terminal-text.js';

export interface GlobalOptions {
  service?: string;
  workspace?: string;
  json?: boolean;
  yes?: boolean;
  quiet?: boolean;
  color?: boolean;
}

export interface Surroundings extends Streams {
  env: NodeJS.ProcessEnv;
  cwd: string;
  args: readonly string[];
  /** Aborts when the user presses Ctrl-C. */
  signal: AbortSignal;
}

export const DEFAULT_URL = 'http://localhost:3000';

/** What a command needs: options, terminal, and an API client. */
export class Cli {
  readonly options: GlobalOptions;
  readonly terminal: Terminal;
  /** The raw streams, for commands that pass bytes through unchanged. */
  readonly streams: Streams;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** The arguments after `--`, which are a command to run on the platform. */
  readonly command: readonly string[];
  readonly signal: AbortSignal;
  readonly #path: string;
  #client: Promise<ApiClient> | null = null;

  constructor(surroundings: Surroundings, options: GlobalOptions) {
    const { env, cwd, args, signal } = surroundings;
    this.options = options;
    this.streams = surroundings;
    this.env = env;
    this.cwd = cwd;
    this.command = args.includes('--') ? args.slice(args.indexOf('--') + 1) : [];
    this.signal = signal;
    this.#path = settingsPath(env);
    const colours = options.color !== false && !env.NO_COLOR && env.TERM !== 'dumb';
    this.terminal = new Terminal(surroundings, { quiet: options.quiet === true, colours });
  }

  get json(): boolean {
    return this.options.json === true;
  }

  async settings(): Promise<Settings> {
    const { settings, tooOpen } = await readSettings(this.#path);
    if (tooOpen) this.terminal.complain(`Other users can read ${this.#path}: run chmod 600 on it`);
    return settings;
  }

  async change(change: (settings: Settings) => void): Promise<string> {
    const { settings } = await readSettings(this.#path);
    change(settings);
    await writeSettings(this.#path, settings);
    return this.#path;
  }

  /** Returns an API client with the user's key. Throws with exit code 3 if the user is not signed in. */
  client(): Promise<ApiClient> {
    this.#client ??= this.#open();
    return this.#client;
  }

  async #open(): Promise<ApiClient> {
    const { logins } = await this.settings();
    const { RNV_KEY: key, RNV_URL: url } = this.env;
    const { workspace } = this.options;
    if (key) {
      const at = normalUrl(url || logins[0]?.url || DEFAULT_URL);
      const all = await workspacesOf(at, key, this.signal);
      const found = all.find((each) => isNamed(each, workspace));
      if (!found)
        throw new CliError(
          EXIT.notFound,
          `RNV_KEY is not a key of the workspace ${workspace ?? 'that it was made for'}`,
        );
      return new ApiClient({ url: at, key, workspaceId: found.id, signal: this.signal });
    }
    const login = chooseLogin(logins, url ? normalUrl(url) : undefined, workspace);
    return new ApiClient({ ...login, signal: this.signal });
  }

  /** Prints the result of a command: with --json the document, otherwise the rows, or `empty` if there are none. */
  printRows(document: object, rows: readonly (readonly string[])[], empty?: string): void {
    if (this.json) this.terminal.json(document);
    else if (rows.length === 0 && empty !== undefined) this.terminal.say(empty);
    else for (const line of table(rows)) this.terminal.data(line);
  }

  printData(document: object, text: string): void {
    if (this.json) this.terminal.json(document);
    else this.terminal.data(text);
  }

  printOutcome(document: object, sentence: string): void {
    if (this.json) this.terminal.json(document);
    else this.terminal.say(sentence);
  }

  /** Returns the text of a file, or of stdin if the name is `-`; null if the file cannot be read. */
  textOf(file: string): Promise<string | null> {
    return file === '-' ? this.terminal.input() : readFile(resolve(this.cwd, file), 'utf8').catch(() => null);
  }

  async services(): Promise<Service[]> {
    const api = await this.client();
    const { services } = await api.get<{ services: Service[] }>('/services');
    return services.filter(({ lifecycleStatus }) => lifecycleStatus !== 'deleted');
  }

  /** Returns the service with this id, name or internal host name. Throws with exit code 5 if it does not exist. */
  async serviceNamed(name: string): Promise<Service> {
    return pickService(await this.services(), name);
  }

  /**
   * Returns the service with this name. Without a name, returns the service of --service or RNV_SERVICE, or else the
   * service to which the folder is linked. Throws with exit code 2 if no service is selected, and with 5 if the service
   * does not exist.
   */
  async service(name?: string): Promise<Service> {
    const found = name === undefined ? await this.namedService() : await this.serviceNamed(name);
    if (found) return found;
    throw new CliError(
      EXIT.usage,
      'No service is selected. Use --service, set RNV_SERVICE, or link this folder to a service with rnv init',
    );
  }

  /**
   * Returns the service that is named before `--`, or else the selected service. `words` are all arguments. Throws with
   * exit code 2 if `--` follows more than one word, or if the command after `--` is missing and not optional.
   */
  async serviceBefore(
    words: readonly (string | undefined)[],
    { isOptional, example }: { isOptional: boolean; example: string },
  ): Promise<Service> {
    const given = words.filter((word) => word !== undefined);
    const [name, ...others] = given.slice(0, given.length - this.command.length);
    if (others.length > 0 || (this.command.length === 0 && !isOptional))
      throw new CliError(EXIT.usage, `Give the command after --, such as: ${example}`);
    return this.service(name);
  }

  /** Returns the service that `service()` selects without a name, or null if none is selected. */
  async namedService(folder = this.cwd): Promise<Service | null> {
    const name = this.options.service ?? (this.env.RNV_SERVICE || undefined);
    if (name !== undefined) return this.serviceNamed(name);
    const link = await this.#linkOf(folder);
    if (link === null) return null;
    const service = (await this.services()).find(({ id }) => id === link);
    if (service) return service;
    throw new CliError(
      EXIT.notFound,
      'The service that this folder is linked to was deleted. Link the folder to another service with rnv init',
    );
  }

  /** Returns the client, the selected service, and the path of one of its resources, such as `domains`. */
  async ofService(what: string): Promise<{ api: ApiClient; service: Service; path: string }> {
    const api = await this.client();
    const service = await this.service();
    return { api, service, path: `/services/${service.id}/${what}` };
  }

  /** Returns the id of the service to which the folder, or else its nearest linked parent, is linked. */
  async #linkOf(folder: string): Promise<string | null> {
    const { links } = await this.settings();
    if (Object.keys(links).length === 0) return null;
    const api = await this.client();
    for (let at = await realFolder(folder); ; at = dirname(at)) {
      const link = links[at];
      if (link && link.url === api.url && link.workspaceId === api.workspaceId) return link.serviceId;
      if (at === dirname(at)) return null;
    }
  }

  async link(folder: string, serviceId: string): Promise<void> {
    const api = await this.client();
    const at = await realFolder(folder);
    await this.change(({ links }) => {
      links[at] = { url: api.url, workspaceId: api.workspaceId, serviceId };
    });
  }

  /**
   * Asks for confirmation, unless --yes is given. The Enter key alone means `initial`. If the user answers no, throws
   * with exit code 130.
   */
  async confirm(message: string, initial = false): Promise<void> {
    if (this.options.yes) return;
    if (!(await this.terminal.confirm(message, initial))) throw new CliError(EXIT.interrupted, 'Nothing was done.');
  }
}

/** Returns an installation's URL without the API's path. Throws with exit code 2 if the text is not a URL. */
export function normalUrl(text: string): string {
  const withScheme = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  let url: URL;
  try {
    url = new URL(withScheme);
  } catch {
    throw new CliError(EXIT.usage, `"${text}" is not an address such as https://ranvier.example.com`);
  }
  if (!['http:', 'https:'].includes(url.protocol) || url.username || url.password)
    throw new CliError(EXIT.usage, 'The address must begin with http:// or https://, and have no user and password');
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api(\/v1)?$/, '');
}

/** Returns the workspaces of an API key. The list has one entry: the workspace for which the key was created. */
export async function workspacesOf(url: string, key: string, signal: AbortSignal): Promise<Workspace[]> {
  const { body } = await send(`${url}/api/v1/workspaces`, {
    method: 'GET',
    headers: { Authorization: `Bearer ${key}` },
    signal,
  });
  return (body as { workspaces: Workspace[] }).workspaces;
}

export function isNamed({ id, name }: Workspace, text: string | undefined): boolean {
  return text === undefined || id === text || name === text;
}

export function workspaceOf({ workspaceId, workspaceName }: Login): Workspace {
  return { id: workspaceId, name: workspaceName };
}

function chooseLogin(logins: readonly Login[], url: string | undefined, workspace: string | undefined): Login {
  const there = logins.filter((login) => url === undefined || login.url === url);
  if (there.length === 0) {
    const where = url === undefined ? '' : ` at ${url}`;
    throw new CliError(EXIT.notSignedIn, `You are not signed in${where}: run rnv login, or set RNV_URL and RNV_KEY`);
  }
  const found = there.find((login) => isNamed(workspaceOf(login), workspace));
  if (found) return found;
  throw new CliError(EXIT.notSignedIn, `You have no key for the workspace ${workspace}: run rnv login --workspace`);
}

/**
 * Returns the service with this id, name or internal host name. Throws with exit code 5 if there is none, and with 2 if
 * several services have the name.
 */
export function pickService(services: readonly Service[], text: string): Service {
  const byId = services.find(({ id }) => id === text);
  if (byId) return byId;
  const named = services.filter(({ name }) => name === text);
  const found = named.length > 0 ? named : services.filter(({ internalHost }) => internalHost === text);
  if (found.length > 1) {
    const ids = found.map(({ id, internalHost }) => `  ${id}  ${internalHost}`).join('\n');
    throw new CliError(EXIT.usage, `Several services are named ${text}. Use the id instead:\n${ids}`);
  }
  const [service] = found;
  if (!service)
    throw new CliError(
      EXIT.notFound,
      `There is no service ${text} in this workspace. List the services with rnv services`,
    );
  return service;
}

async function realFolder(folder: string): Promise<string> {
  return realpath(resolve(folder)).catch(() => resolve(folder));
}

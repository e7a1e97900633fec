import { hostname } from 'node:os';
import { ApiError } from '../api-client.js';
import type { Workspace } from '../api-types.js';
import { type Cli, DEFAULT_URL, isNamed, normalUrl, workspaceOf, workspacesOf } from '../cli.js';
import { CliError, EXIT, missingAnswer } from '../exit-codes.js';
import { Session } from '../session.js';
import type { Login } from '../settings-file.js';

export interface LoginOptions {
  url?: string;
  email?: string;
  key?: boolean;
}

/** Stores an API key: one from stdin, or a new one created after signing in with e-mail and password. */
export async function login(cli: Cli, options: LoginOptions): Promise<void> {
  const url = normalUrl(options.url ?? (await addressOf(cli)));
  const made = options.key ? await givenKey(cli, url) : await newKey(cli, url, options);
  const path = await cli.change((settings) => {
    const others = settings.logins.filter((each) => each.url !== url || each.workspaceId !== made.workspaceId);
    settings.logins = [made, ...others];
  });
  const { workspaceName, email } = made;
  const outcome = `Signed in to ${workspaceName} at ${url}${email === '' ? '' : ` as ${email}`}. The key is in ${path}`;
  cli.printOutcome({ url, workspace: workspaceOf(made), email, path }, outcome);
}

async function addressOf(cli: Cli): Promise<string> {
  if (cli.env.RNV_URL) return cli.env.RNV_URL;
  const known = (await cli.settings()).logins[0]?.url ?? DEFAULT_URL;
  return cli.terminal.asks ? cli.terminal.text('Address of the installation', '--url', known) : known;
}

async function givenKey(cli: Cli, url: string): Promise<Login> {
  const { terminal } = cli;
  const key = (terminal.hasInput ? await terminal.input() : await terminal.secret('Key', 'the key by stdin')).trim();
  if (!/^rnv_\S+$/.test(key)) throw new CliError(EXIT.usage, 'This is not an API key: keys begin with rnv_');
  const workspace = choose(await workspacesOf(url, key, cli.signal), cli.options.workspace);
  return { url, key, email: '', workspaceId: workspace.id, workspaceName: workspace.name };
}

async function newKey(cli: Cli, url: string, options: LoginOptions): Promise<Login> {
  const { terminal } = cli;
  if (!terminal.asks && options.email === undefined) {
    throw missingAnswer('E-mail address', '--email with the password by stdin, or --key with a key by stdin');
  }
  const email = options.email ?? (await terminal.text('E-mail address', '--email'));
  const lines = terminal.asks ? [] : (await terminal.input()).split(/\r?\n/);
  const password = terminal.asks ? await terminal.secret('Password', 'it by stdin') : (lines[0] ?? '');
  const session = new Session(url, cli.signal);
  const askCode = async () => lines[1] ?? (await terminal.text('One-time code', 'it as the second line of stdin'));
  const workspaces = await signIn(session, { email, password }, askCode);
  try {
    const workspace = await chosen(cli, workspaces);
    const key = await session.createKey(workspace.id, `rnv on ${hostname()}`.slice(0, 100));
    return { url, key, email, workspaceId: workspace.id, workspaceName: workspace.name };
  } finally {
    await session.signOut().catch(() => undefined);
  }
}

async function signIn(
  session: Session,
  input: { email: string; password: string },
  askCode: () => Promise<string>,
): Promise<Workspace[]> {
  try {
    return await session.signIn(input);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'mfa_required') throw error;
    // If the error does not name `/otp`, the only second factor is a passkey, which needs a browser.
    if (!error.paths.includes('/otp')) throw error;
    return session.signIn({ ...input, otp: (await askCode()).trim() });
  }
}

async function chosen(cli: Cli, workspaces: readonly Workspace[]): Promise<Workspace> {
  if (cli.options.workspace !== undefined || workspaces.length < 2) return choose(workspaces, cli.options.workspace);
  const options = workspaces.map(({ id, name }) => ({ value: id, label: name }));
  return choose(workspaces, await cli.terminal.choose('Workspace', '--workspace', options));
}

function choose(workspaces: readonly Workspace[], wanted: string | undefined): Workspace {
  const found = workspaces.find((workspace) => isNamed(workspace, wanted));
  if (found) return found;
  throw new CliError(
    EXIT.notFound,
    wanted === undefined
      ? 'You are not a member of a workspace: ask for an invitation'
      : `You are not a member of a workspace ${wanted}`,
  );
}

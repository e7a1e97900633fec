import { ApiClient } from '../api-client.js';
import type { ApiKey } from '../api-types.js';
import { type Cli, isNamed, normalUrl, workspaceOf } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import type { Login } from '../settings-file.js';
import { oneLine } from '../terminal-text.js';

export interface LogoutOptions {
  url?: string;
  all?: boolean;
}

/**
 * Revokes the current API key, or all keys of this computer. A key of `rnv login --key` is only forgotten, because
 * other computers may use it. Throws with exit code 3 if no key matches.
 */
export async function logout(cli: Cli, { url, all }: LogoutOptions): Promise<void> {
  const { logins } = await cli.settings();
  const wanted = url === undefined ? undefined : normalUrl(url);
  const { workspace } = cli.options;
  const named = logins.filter(
    (login) => (wanted === undefined || login.url === wanted) && isNamed(workspaceOf(login), workspace),
  );
  const ending = all ? named : named.slice(0, 1);
  if (ending.length === 0) throw new CliError(EXIT.notSignedIn, 'You are not signed in: there is no key to forget');
  const results = [];
  for (const login of ending) {
    const revoked = login.email !== '' && (await revoke(cli, login));
    results.push({ url: login.url, workspace: workspaceOf(login), revoked });
  }
  await cli.change((settings) => {
    const keys = new Set(ending.map(({ key }) => key));
    settings.logins = settings.logins.filter(({ key }) => !keys.has(key));
  });
  if (cli.json) return cli.terminal.json({ ended: results });
  for (const { url: at, workspace: of, revoked } of results) {
    const rest = revoked
      ? 'The key was revoked.'
      : 'The key was removed from this machine, and stays valid until it is revoked.';
    cli.terminal.say(`Signed out of ${oneLine(of.name)} at ${at}. ${rest}`);
  }
}

/** Revokes a key. Returns false if that fails, for example without a network. */
async function revoke(cli: Cli, login: Login): Promise<boolean> {
  try {
    const api = new ApiClient({ ...login, signal: cli.signal });
    const { keys } = await api.once<{ keys: ApiKey[] }>('GET', '/keys?limit=200');
    const own = keys.find(({ prefix }) => prefix !== '' && login.key.startsWith(prefix));
    if (!own) return false;
    await api.once('DELETE', `/keys/${own.id}`, {});
    return true;
  } catch (error) {
    cli.signal.throwIfAborted();
    if (error instanceof CliError) return false;
    throw error;
  }
}

/** Shows the signed-in user, installation and workspace. Fails if the key is no longer valid. */
export async function whoami(cli: Cli): Promise<void> {
  const api = await cli.client();
  const { workspace } = await api.get<{ workspace: { id: string; name: string; role: string } }>('');
  const login = (await cli.settings()).logins.find(({ key }) => key === api.key);
  const email = login?.email ?? '';
  const { id, name, role } = workspace;
  if (cli.json) return cli.terminal.json({ url: api.url, workspace: { id, name }, role, email });
  cli.terminal.data(`${email === '' ? 'A key' : email}, ${role} of ${oneLine(name)} at ${api.url}`);
}

import { type ApiClient, ApiError } from '../api-client.js';
import type { Domain } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { oneLine } from '../terminal-text.js';

export async function list(cli: Cli): Promise<void> {
  const { api, path } = await cli.ofService('domains');
  const { domains } = await available(api.get<{ domains: Domain[] }>(path));
  const rows = domains.map((one) => [one.hostname, one.status, redirectOf(one), oneLine(one.detail)]);
  cli.printRows({ domains }, rows);
}

export async function add(cli: Cli, hostname: string): Promise<void> {
  const { api, path } = await cli.ofService('domains');
  show(cli, (await available(api.write<{ domain: Domain }>('POST', path, { hostname }))).domain);
}

export async function verify(cli: Cli, hostname: string): Promise<void> {
  const { api, path } = await cli.ofService('domains');
  const { id } = await find(api, path, hostname);
  const { domain } = await api.write<{ domain: Domain }>('POST', `${path}/${id}/verify`);
  show(cli, domain);
  if (domain.status !== 'active') throw new CliError(EXIT.conflict, `${hostname} is not verified yet`);
}

export async function remove(cli: Cli, hostname: string): Promise<void> {
  const { api, path } = await cli.ofService('domains');
  const { id } = await find(api, path, hostname);
  await cli.confirm(`Remove ${hostname}?`);
  await api.write('DELETE', `${path}/${id}`);
  cli.printOutcome({ deleted: true }, `Removed ${hostname}`);
}

export async function redirect(
  cli: Cli,
  hostname: string,
  to: string | undefined,
  { off = false }: { off?: boolean },
): Promise<void> {
  if ((to === undefined) !== off)
    throw new CliError(EXIT.usage, 'Give the host name that visitors are sent to, or --off');
  const { api, path } = await cli.ofService('domains');
  const { id } = await find(api, path, hostname);
  const { domain } = await api.write<{ domain: Domain }>('PATCH', `${path}/${id}`, { redirectTo: to ?? null });
  show(cli, domain);
}

function redirectOf({ redirectTo }: Domain): string {
  return redirectTo === undefined ? '' : `→ ${redirectTo}`;
}

async function find(api: ApiClient, path: string, hostname: string): Promise<Domain> {
  const { domains } = await available(api.get<{ domains: Domain[] }>(path));
  const found = domains.find((domain) => domain.hostname === hostname.toLowerCase());
  if (found) return found;
  throw new CliError(EXIT.notFound, `The service has no domain ${hostname}`);
}

/** The service exists, so a 404 error means that this installation has no domains. */
async function available<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new CliError(EXIT.notFound, 'Domains are not available on this installation');
  }
}

function show(cli: Cli, domain: Domain): void {
  if (cli.json) {
    cli.terminal.json({ domain });
    return;
  }
  const { hostname, status, verification, detail } = domain;
  cli.terminal.data([hostname, status, redirectOf(domain)].filter((part) => part !== '').join('  '));
  if (status === 'active') return;
  cli.terminal.say('Set this record at your name servers, then run rnv domains verify:');
  cli.terminal.data(`${verification.name}  ${verification.type}  ${verification.value}`);
  if (detail !== '') cli.terminal.say(oneLine(detail));
}

import { type ApiClient, ApiError } from '../api-client.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { oneLine, table } from '../terminal-text.js';

interface Domain {
  id: string;
  hostname: string;
  status: string;
  verification: { type: string; name: string; value: string };
  detail?: string;
  redirectTo?: string;
}

export async function list(cli: Cli): Promise<void> {
  const { api, path } = await placeOf(cli);
  const { domains } = await available(api.get<{ domains: Domain[] }>(path));
  if (cli.json) return cli.terminal.json({ domains });
  const rows = domains.map((one) => [one.hostname, one.status, redirectOf(one), oneLine(one.detail ?? '')]);
  for (const line of table(rows)) cli.terminal.data(line);
}

export async function add(cli: Cli, hostname: string): Promise<void> {
  const { api, path } = await placeOf(cli);
  show(cli, (await available(api.write<{ domain: Domain }>('POST', path, { hostname }))).domain);
}

export async function verify(cli: Cli, hostname: string): Promise<void> {
  const { api, path } = await placeOf(cli);
  const { id } = await find(api, path, hostname);
  const { domain } = await api.write<{ domain: Domain }>('POST', `${path}/${id}/verify`);
  show(cli, domain);
  if (domain.status !== 'active') throw new CliError(EXIT.conflict, `${hostname} is not verified yet`);
}

export async function remove(cli: Cli, hostname: string): Promise<void> {
  const { api, path } = await placeOf(cli);
  const { id } = await find(api, path, hostname);
  await cli.confirm(`Remove ${hostname}?`);
  await api.write('DELETE', `${path}/${id}`);
  if (cli.json) return cli.terminal.json({ deleted: true });
  cli.terminal.say(`Removed ${hostname}`);
}

/** Redirects a domain to another host; without one, removes the redirect. */
export async function redirect(
  cli: Cli,
  hostname: string,
  to: string | undefined,
  { off = false }: { off?: boolean },
): Promise<void> {
  if ((to === undefined) !== off)
    throw new CliError(EXIT.usage, 'Give the host name that visitors are sent to, or --off');
  const { api, path } = await placeOf(cli);
  const { id } = await find(api, path, hostname);
  const { domain } = await api.write<{ domain: Domain }>('PATCH', `${path}/${id}`, { redirectTo: to ?? null });
  show(cli, domain);
}

function redirectOf({ redirectTo }: Domain): string {
  return redirectTo === undefined ? '' : `→ ${redirectTo}`;
}

async function placeOf(cli: Cli): Promise<{ api: ApiClient; path: string }> {
  const { id } = await cli.service();
  return { api: await cli.client(), path: `/services/${id}/domains` };
}

async function find(api: ApiClient, path: string, hostname: string): Promise<Domain> {
  const { domains } = await available(api.get<{ domains: Domain[] }>(path));
  const found = domains.find((domain) => domain.hostname === hostname.toLowerCase());
  if (found) return found;
  throw new CliError(EXIT.notFound, `The service has no domain ${hostname}`);
}

/**
 * Replaces a 404 error by one that says that this installation has no domains. The service was found before, so a 404
 * can mean nothing else.
 */
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
  const { hostname, status, verification, detail = '' } = domain;
  cli.terminal.data([hostname, status, redirectOf(domain)].filter((part) => part !== '').join('  '));
  if (status === 'active') return;
  cli.terminal.say('Set this record at your name servers, then run rnv domains verify:');
  cli.terminal.data(`${verification.name}  ${verification.type}  ${verification.value}`);
  if (detail !== '') cli.terminal.say(oneLine(detail));
}

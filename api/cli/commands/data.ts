import type { Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { type FollowOptions, followDeployment } from '../follow-deployment.js';
import { oneLine } from '../terminal-text.js';

export async function list(cli: Cli): Promise<void> {
  const services = (await cli.services()).filter(isData);
  const rows = services.map((service) => [
    oneLine(service.name),
    versionOf(service),
    service.displayStatus,
    service.internalHost,
  ]);
  cli.printRows({ services }, rows, 'The workspace has no database yet. Create one with rnv db create postgres');
}

/** Creates a database, and waits until it accepts connections. */
export async function create(cli: Cli, kind: string, options: FollowOptions & { name?: string; plan?: string }) {
  const api = await cli.client();
  const body = {
    name: options.name ?? kind,
    kind,
    deploy: true,
    configuration: { plan: options.plan },
  };
  const { service } = await api.write<{ service: Service }>('POST', '/services', body);
  const { deploymentId: id } = service;
  cli.terminal.say(
    `Creating ${oneLine(service.name)}. Connect a service to it with rnv db attach ${service.internalHost}`,
  );
  if (id === null || options.detach) return cli.printData({ service }, service.internalHost);
  await followDeployment(cli, { service, id }, options);
}

/** Adds a reference to a database's URL to the variables of a service, so that no password is copied. */
export async function attach(cli: Cli, name: string, { as }: { as?: string }): Promise<void> {
  const database = await find(cli, name);
  const service = await cli.service();
  const key = as ?? (database.kind === 'postgres' ? 'DATABASE_URL' : 'REDIS_URL');
  const api = await cli.client();
  const set = [{ key, reference: { serviceId: database.id, key: 'URL' } }];
  await api.write('PUT', `/services/${service.id}/variables`, { set });
  cli.printOutcome(
    { service: { id: service.id }, database: { id: database.id }, key },
    `${oneLine(service.name)} gets ${key} from ${oneLine(database.name)} with its next deployment: run rnv deploy`,
  );
}

/** Returns the database with this name. Throws if the service is not a database. */
export async function find(cli: Cli, name: string): Promise<Service> {
  const service = await cli.serviceNamed(name);
  if (isData(service)) return service;
  throw new CliError(EXIT.conflict, `${service.name} is of kind ${service.kind} and not a database`);
}

function isData({ kind }: Service): boolean {
  return kind === 'postgres' || kind === 'redis';
}

function versionOf({ kind, configuration }: Service): string {
  return kind === 'postgres' ? `PostgreSQL ${configuration.databaseVersion}` : 'Redis';
}

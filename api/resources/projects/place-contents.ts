import { type Db, rowsOf, type Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';

export type Place = { projectId: string } | { environmentId: string };

interface Contents {
  services: string[];
  groups: string[];
}

async function contentsOf(db: Db, place: Place): Promise<Contents> {
  const environments =
    'projectId' in place ? 'in (select id from environments where project_id = :id)' : '= cast(:id as uuid)';
  const [row] = await rowsOf<Contents>(
    db,
    `select array(select name from services
                   where ${column(place)} = :id and deleted_at is null order by created_at, id) as services,
            array(select name from environment_groups
                   where environment_id ${environments} order by created_at, id) as groups`,
    { id: idOf(place) },
  );
  return row ?? { services: [], groups: [] };
}

/** Removes deleted services from a project or environment, so that its row can be deleted. */
async function detachDeletedServices(trx: Transaction, place: Place): Promise<void> {
  await trx('services')
    .where({ [column(place)]: idOf(place) })
    .whereNotNull('deleted_at')
    .update({ project_id: null, environment_id: null });
}

function column(place: Place): 'project_id' | 'environment_id' {
  return 'projectId' in place ? 'project_id' : 'environment_id';
}

function idOf(place: Place): string {
  return 'projectId' in place ? place.projectId : place.environmentId;
}

/** Prepares a locked project or environment for deletion. Throws conflict if it still has services or groups. */
export async function prepareRemoval(trx: Transaction, title: string, place: Place): Promise<void> {
  const left = describe(await contentsOf(trx, place));
  if (left) throw new AppError('conflict', `${title} is not empty: move or delete ${left} first`);
  await detachDeletedServices(trx, place);
}

function describe({ services, groups }: Contents): string {
  const parts = [named('its service', services), named('its environment group', groups)];
  return parts.filter((part) => part !== '').join(' and ');
}

const MAX_NAMED = 5;

function named(noun: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, MAX_NAMED).map((name) => `"${name}"`);
  if (names.length > MAX_NAMED) shown.push(`${names.length - MAX_NAMED} more`);
  return `${noun}${names.length === 1 ? '' : 's'} ${shown.join(', ')}`;
}

import { type Db, rowsOf, type Transaction } from './client.js';

/** A project or one of its environments. */
export type Place = { projectId: string } | { environmentId: string };

/** What stands in a place and keeps it from being deleted, by name. */
export interface Contents {
  services: string[];
  groups: string[];
}

/** Services that are not deleted, archived ones included, and the environment groups confined to the place. */
export async function contentsOf(db: Db, place: Place): Promise<Contents> {
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

/** Before a place is removed: services that are deleted already stand nowhere from then on. */
export async function displaceDeleted(trx: Transaction, place: Place): Promise<void> {
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

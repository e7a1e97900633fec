import { v7 as uuidv7 } from 'uuid';
import { type Db, valuesOf } from '../core/database/database-client.js';
import { prepare, rowsOfPrepared } from '../core/database/prepared.js';
import type { BuiltImage, ImageRow } from './model.js';

/** Returns the values for the SQL parameters of `imageStoredBy`. */
export function imageValues({ digest, manifest, sizeBytes }: BuiltImage) {
  return { imageId: uuidv7(), digest, manifest: JSON.stringify(manifest), sizeBytes };
}

/** Returns SQL that stores a built image for the deployment in the common table expression `query`. */
export function imageStoredBy(query: string): string {
  return `insert into images (id, workspace_id, service_id, digest, manifest, size_bytes)
    select cast(:imageId as uuid), workspace_id, service_id, cast(:digest as text), cast(:manifest as jsonb),
           cast(:sizeBytes as bigint) from ${query}`;
}

export async function getImage(db: Db, id: string): Promise<ImageRow | undefined> {
  return db<ImageRow>('images').where({ id }).first();
}

const RETIRE = prepare<{ id: string }>(
  `with used as (
     select i.id, i.created_at,
            (select d.went_live_at from deployments d where d.image_id = i.id and d.went_live_at is not null
              order by d.went_live_at desc limit 1) as went_live_at,
            exists (select from deployments d where d.service_id = $1 and d.finished_at is null and d.image_id = i.id) as open
       from images i where i.service_id = $1 and i.removed_at is null
   ), ranked as (
     select id, open, row_number() over (order by went_live_at desc nulls last, created_at desc) as place from used
   )
   update images i set removed_at = now()
     from ranked r
    where i.id = r.id and r.place > $2 and not r.open
      and not exists (select 1 from services s join deployments d on d.id = s.live_deployment_id
                       where s.id = $1 and d.image_id = i.id)
      and not exists (select 1 from replicas p join deployments d on d.id = p.deployment_id
                       where p.service_id = $1 and d.image_id = i.id and p.run_id is not null and p.state <> 'stopped')
    returning i.id`,
);

/**
 * Marks a service's images as removed, except those in use and the last `keep` that went live. Returns their number.
 * The cost does not grow with the number of past deployments.
 */
export async function retireImages(db: Db, serviceId: string, keep: number): Promise<number> {
  return (await rowsOfPrepared(db, RETIRE, [serviceId, keep])).length;
}

/** Returns the names of the toolchains that are needed by images that can still run. */
export async function wantedTools(db: Db): Promise<Set<string>> {
  const tools = `select distinct jsonb_array_elements_text(manifest->'tools')
    from images where removed_at is null and jsonb_typeof(manifest->'tools') = 'array'`;
  return new Set(await valuesOf<string>(db, tools));
}

/** Returns the digests of the images that must stay on disk. */
export async function wantedDigests(db: Db): Promise<Set<string>> {
  return new Set(await valuesOf<string>(db, 'select distinct digest from images where removed_at is null'));
}

import { v7 as uuidv7 } from 'uuid';
import { type Db, rowsOf } from '../core/database/client.js';
import type { BuiltImage, ImageRow } from './model.js';

/** The values for `imageStoredBy`. The image's id is `imageId`. */
export function imageBindings({ digest, manifest, sizeBytes }: BuiltImage) {
  return { imageId: uuidv7(), digest, manifest: JSON.stringify(manifest), sizeBytes };
}

/** SQL: records an image that a build has stored, for the deployment that `query` returns. */
export function imageStoredBy(query: string): string {
  return `insert into images (id, workspace_id, service_id, digest, manifest, size_bytes)
    select cast(:imageId as uuid), workspace_id, service_id, :digest, cast(:manifest as jsonb), :sizeBytes from ${query}`;
}

export async function getImage(db: Db, id: string): Promise<ImageRow | undefined> {
  return db<ImageRow>('images').where({ id }).first();
}

/**
 * Keeps the `keep` images of a service that went live last, and marks the others as removed. The image that serves, and those
 * that an open deployment (a rollback) or a run uses, stay. Returns how many were removed.
 */
export async function retireImages(db: Db, serviceId: string, keep: number): Promise<number> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `with used as (
       select image_id as id, max(went_live_at) as went_live_at,
              bool_or(finished_at is null) as open
         from deployments where service_id = :serviceId and image_id is not null group by image_id
     ), ranked as (
       select i.id, u.open, row_number() over (order by u.went_live_at desc nulls last, i.created_at desc) as place
         from images i left join used u on u.id = i.id
        where i.service_id = :serviceId and i.removed_at is null
     )
     update images i set removed_at = now()
       from ranked r
      where i.id = r.id and r.place > :keep and not coalesce(r.open, false)
        and not exists (select 1 from services s join deployments d on d.id = s.live_deployment_id
                         where s.id = :serviceId and d.image_id = i.id)
        and not exists (select 1 from replicas p join deployments d on d.id = p.deployment_id
                         where d.image_id = i.id and p.run_id is not null and p.state <> 'stopped')
      returning i.id`,
    { serviceId, keep },
  );
  return rows.length;
}

/** The tools that images which can be run need, by the names in their manifests. */
export async function wantedTools(db: Db): Promise<Set<string>> {
  const rows = await rowsOf<{ tool: string }>(
    db,
    `select distinct jsonb_array_elements_text(manifest->'tools') as tool
       from images where removed_at is null and jsonb_typeof(manifest->'tools') = 'array'`,
  );
  return new Set(rows.map((row) => row.tool));
}

/** The digests that must stay on disk. */
export async function wantedDigests(db: Db): Promise<Set<string>> {
  const rows = await rowsOf<{ digest: string }>(db, 'select distinct digest from images where removed_at is null');
  return new Set(rows.map((row) => row.digest));
}

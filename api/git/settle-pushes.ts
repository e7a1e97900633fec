import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import { branchRef } from '../../shared/pushes/model.js';
import { endedPushes, lockEndedPush, settlePush } from '../../shared/pushes/store.js';
import type { PushedRepositories, PushedRepository } from './pushed-repositories.js';

/**
 * Settles a push whose deployment has finished: updates its branch, or drops its commit. Does nothing if the push is
 * already settled, or if git is about to update the branch.
 */
export async function settleEndedPush(db: Db, repository: PushedRepository, id: string): Promise<void> {
  if (await repository.isHeld(id)) return;
  await db.transaction(async (trx) => {
    const push = await lockEndedPush(trx, id);
    if (push === null) return;
    await repository.adoptShallow(id);
    const moves = push.live && !push.superseded;
    if (moves) {
      const moved = await repository.moveBranch(push.ref.slice(branchRef('').length), push.commit_sha);
      if (!moved.ok) throw new Error(`the branch cannot be moved: ${moved.stderr.slice(0, 500)}`);
    }
    if (!push.live) await repository.forget(id);
    await settlePush(trx, id, moves);
  });
}

const POLL_INTERVAL_MS = 2000;
const GONE_MS = 5_000;
const ANNOUNCED_MS = 10_000;

export interface UpkeepDeps {
  db: Db;
  log: Logger;
  repositories: PushedRepositories;
}

/** Starts the periodic upkeep of this process's pushed repositories. Returns a function that stops it. */
export function startPushUpkeep({ db, log, repositories }: UpkeepDeps): () => Promise<void> {
  let running: Promise<void> | null = null;
  let goneAt = performance.now() - GONE_MS;
  let announcedAt = Number.NEGATIVE_INFINITY;
  const look = async () => {
    if (!(await exists(repositories.folder))) return;
    const { id: folderId } = await repositories.prepare();
    if (performance.now() - announcedAt >= ANNOUNCED_MS) {
      await repositories.announce();
      announcedAt = performance.now();
    }
    for (const { id, service_id } of await endedPushes(db, folderId)) {
      const repository = await repositories.at(service_id);
      await settleEndedPush(db, repository, id).catch((error: unknown) => {
        log.warn({ deploymentId: id }, `a push cannot be settled, it is tried again: ${errorMessage(error)}`);
      });
    }
    if (performance.now() - goneAt < GONE_MS) return;
    goneAt = performance.now();
    const removed = await repositories.removeGone();
    if (removed > 0) log.info({ removed }, 'repositories of deleted services are removed');
  };
  const timer = setInterval(() => {
    running ??= look()
      .catch((error: unknown) =>
        log.warn(`the upkeep of pushed repositories failed, it is tried again: ${errorMessage(error)}`),
      )
      .finally(() => {
        running = null;
      });
  }, POLL_INTERVAL_MS);
  return async () => {
    clearInterval(timer);
    await running;
    await repositories.withdraw();
  };
}

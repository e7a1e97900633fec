import { ABANDONED, defineKind, RECORD_QUEUE } from '../engine/kind.js';

/** Deployments. Their states are in model.ts, and `applyEvent` writes them. */
export const DEPLOYMENTS = defineKind({
  table: 'deployments',
  payload: 'deploymentId',
  queues: { deploy: RECORD_QUEUE },
  waiting: 'finished_at is null and admitted_at is null',
  // A deployment is due from its admission on, so that the index of what runs has those that are.
  due: 'finished_at is null and admitted_at is not null',
  lease: { cancellable: true },
  abandoned: { ...ABANDONED, order: 'number' },
});

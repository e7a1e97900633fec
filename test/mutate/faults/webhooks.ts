// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

export const WEBHOOKS_FAULTS: readonly Fault[] = [
  {
    name: 'webhook: every workspace is told',
    file: 'shared/webhooks/store.ts',
    find: 'where d.workspace_id = w.workspace_id and d.status',
    replace: 'where d.status',
  },
  {
    name: 'webhook: events that it does not want',
    file: 'shared/webhooks/store.ts',
    find: 'where e.event = any(w.events)\n',
    replace: 'where true\n',
  },
  {
    name: 'webhook: what ended before it was made',
    file: 'shared/webhooks/store.ts',
    find: "greatest(w.created_at, w.scanned_at - interval '2 minutes')",
    replace: "w.created_at - interval '1 day'",
  },
  {
    name: 'webhook: deliveries pile up',
    file: 'shared/webhooks/store.ts',
    find: 'd.due_at is not null) < ${MAX_WAITING}',
    replace: 'd.due_at is not null) <= ${MAX_WAITING}',
  },
  {
    name: 'webhook: two processes send it',
    file: 'shared/webhooks/store.ts',
    find: "tries = d.tries + 1, due_at = now() + interval '2 minutes'",
    replace: 'tries = d.tries + 1, due_at = d.due_at',
  },
  {
    name: 'webhook: the tries are not counted',
    file: 'shared/webhooks/store.ts',
    find: 'set tries = d.tries + 1,',
    replace: 'set tries = d.tries,',
  },
  {
    name: 'webhook: an alert goes to every workspace',
    file: 'shared/webhooks/store.ts',
    find: 'where w.workspace_id = :workspaceId and :event = any(w.events)',
    replace: 'where cast(:workspaceId as uuid) is not null and :event = any(w.events)',
  },
  {
    name: 'webhook: one that is gone is told again',
    file: 'shared/webhooks/model.ts',
    find: "status === 410 ? 'gone'",
    replace: "status === 411 ? 'gone'",
  },
  {
    name: 'webhook: an old signature is good for ever',
    file: 'shared/webhooks/model.ts',
    find: '.update(`${seconds}.${body}`)',
    replace: '.update(body)',
  },
  {
    name: 'webhook: a private address is taken',
    file: 'shared/webhooks/model.ts',
    find: 'if (!allowLocal && isPrivateAddress(hostOf(url)))',
    replace: 'if (false)',
  },
];

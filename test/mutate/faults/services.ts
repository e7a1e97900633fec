// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const IMAGES = 'shared/images/store.ts';
const CANVAS = 'api/resources/canvas/store.ts';
const SERVICES = 'shared/services/insert-service.ts';

export const SERVICES_FAULTS: readonly Fault[] = [
  {
    name: 'images: the one that serves is removed',
    file: IMAGES,
    find: 'where s.id = $1 and d.image_id = i.id',
    replace: 'where false and s.id = $1',
  },
  {
    name: 'images: the one of an open rollback is removed',
    file: IMAGES,
    find: ' and not r.open',
    replace: '',
  },
  {
    name: 'images: the oldest are kept',
    file: IMAGES,
    find: 'order by went_live_at desc nulls last',
    replace: 'order by went_live_at nulls last',
  },
  {
    name: 'canvas: a save of an old revision wins',
    file: CANVAS,
    find: 'scope_id = :scopeId and revision = :revision',
    replace: 'scope_id = :scopeId and cast(:revision as int) >= 0',
  },
  {
    name: 'canvas: nodes that have gone keep their place',
    file: 'api/resources/canvas/model.ts',
    find: 'nodes.has(id)',
    replace: 'nodes.size >= 0',
  },
  {
    name: 'canvas: one node less than the limit',
    file: 'api/resources/canvas/model.ts',
    find: 'records.length <= limit',
    replace: 'records.length < limit',
  },
  {
    name: 'canvas: archived services are shown',
    file: CANVAS,
    find: ".where('s.archived', false)",
    replace: '',
  },
  {
    name: 'slug: the name of a deleted service is free at once',
    file: SERVICES,
    find: 'deleted_at > now() - make_interval(days => ${SLUG_REST_DAYS})',
    replace: 'false',
  },
  {
    name: 'slug: its own workspace waits too',
    file: SERVICES,
    find: 'or workspace_id <> cast(:workspace_id as uuid)',
    replace: 'or cast(:workspace_id as uuid) is not null',
  },
  {
    name: 'slug: a reserved name is given',
    file: SERVICES,
    find: 'if (reserved.has(slug))',
    replace: 'if (false)',
  },
  {
    name: 'service: a newer failure hides the release that serves',
    file: 'api/resources/services/service-status.ts',
    find: 'if (facts.liveDeploymentId !== null)',
    replace: "if (facts.liveDeploymentId !== null && latest !== 'failed')",
  },
  {
    name: 'service: deleted at once although it has images',
    file: 'shared/lifecycle/store.ts',
    find: 'select 1 from images where service_id = :serviceId and removed_at is null',
    replace: 'select 1 from images where false and service_id = :serviceId',
  },
  {
    name: 'repository: file: is allowed on every installation',
    file: 'shared/services/service-source.ts',
    find: "return allowLocal ? null : 'file:",
    replace: "return true ? null : 'file:",
  },
  {
    name: 'repository: private addresses are allowed',
    file: 'shared/services/service-source.ts',
    find: 'if (!allowLocal && isPrivateAddress(hostOf(url)))',
    replace: 'if (false)',
  },
  {
    name: 'repository: its token is shown',
    file: 'shared/services/service-source.ts',
    find: 'url.username = MASK;',
    replace: 'url.username = url.username;',
  },
  {
    name: 'notification: a failure is kept quiet',
    file: 'workers/notifications/model.ts',
    find: "setting === 'failure' && status === 'failed'",
    replace: "setting === 'failure' && status === 'live'",
  },
  {
    name: 'git: file: is always allowed',
    file: 'workers/sources/git-command.ts',
    find: "allowFile ? 'https:http:file' : 'https:http'",
    replace: "'https:http:file'",
  },
];

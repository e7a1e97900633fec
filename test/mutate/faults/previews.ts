// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

export const PREVIEWS_FAULTS: readonly Fault[] = [
  {
    name: 'preview: lives on when previews are switched off',
    file: 'shared/previews/store.ts',
    find: "or b.configuration ->> 'previewMode' = 'off'\n",
    replace: '\n',
  },
  {
    name: 'preview: lives on after its service',
    file: 'shared/previews/store.ts',
    find: "where s.lifecycle_status = 'deleting' or b.deleted_at is not null or b.lifecycle_status in ('deleting', 'deleted')\n",
    replace: "where s.lifecycle_status = 'deleting'\n",
  },
  {
    name: 'preview: a deployment does not prolong it',
    file: 'shared/previews/store.ts',
    find: 'set changed_at = now() where service_id',
    replace: 'set changed_at = changed_at where service_id',
  },
  {
    name: 'preview: its deletion is begun beside another one',
    file: 'shared/previews/store.ts',
    find: "o.kind = 'delete' and o.finished_at is null)",
    replace: 'false)',
  },
  {
    name: 'preview: every service moves',
    file: 'shared/previews/store.ts',
    find: 'where deleted_at is null and id in (select service_id from previews where base_id = :baseId)',
    replace: 'where deleted_at is null and cast(:baseId as uuid) is not null',
  },
  {
    name: 'preview: a deleted one is shown',
    file: 'shared/previews/store.ts',
    find: ".whereNull('s.deleted_at')",
    replace: '',
  },
  {
    name: 'preview: has previews itself',
    file: 'shared/previews/model.ts',
    find: 'if (isPreview)',
    replace: 'if (false)',
  },
  {
    name: 'preview: is in maintenance with its service',
    file: 'shared/previews/model.ts',
    find: 'maintenance: false,',
    replace: '',
  },
  {
    name: 'preview: its failed deletion is not tried again',
    file: 'shared/previews/model.ts',
    find: '!deletionOpen && rested',
    replace: 'deletionOpen && rested',
  },
];

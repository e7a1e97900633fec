import { type Static, Type } from 'typebox';
import { plainLine, plainText } from '../core/plain-text.js';
import { MAX_TIME_ZONE_LENGTH } from '../core/string-formats.js';
import { REGION_IDS } from '../services/catalog.js';
import { defaultsOf, oneOf, withoutDefaults } from '../services/configuration.js';

/**
 * A workspace's sixteen settings with their bounds and defaults (specification, Workspace), and what each does.
 *
 * - `budget` is what the services may cost in a month, in `currency`; 0 means that no budget is set. A deployment that takes
 *   the estimate past it is refused unless `allowOverages`, which also lets builds go on past the plan's minutes.
 *   `budgetAlerts` sends e-mails to `notificationEmail` at 80 and 100 per cent of it.
 * - `buildConcurrency` is how many deployments run at once; no plan bounds it further.
 * - `defaultRegion` is the region of services that are created without one.
 * - `overlappingDeploys`: a newer deployment of a service cancels the older ones, or waits for them.
 * - `deployNotifications`: which ends of deployments are mailed to `notificationEmail`; a service may override it.
 * - `requireMfa`: members need a second factor to write.
 * - `timezone` is used for times in e-mails; the API uses UTC.
 * - `avatarColor`, `description` and `securityContact` are for people: they are stored and shown.
 * - A deployment of another branch than its service's counts as a preview. `previewNotifications` has every end of one
 *   mailed, whatever else is set; without `includePreviewLogs` its lines show only if the deployment is asked for.
 */
const FIELDS = {
  allowOverages: Type.Boolean({ default: false }),
  avatarColor: Type.String({
    maxLength: 7,
    pattern: '^#[0-9a-fA-F]{6}$',
    description: 'a colour such as #c4b5fd',
    default: '#c4b5fd',
  }),
  budget: Type.Number({ minimum: 0, maximum: 1_000_000_000, default: 0 }),
  budgetAlerts: Type.Boolean({ default: true }),
  buildConcurrency: Type.Integer({ minimum: 1, maximum: 100, default: 1 }),
  currency: oneOf(['USD', 'NGN'], 'USD'),
  defaultRegion: oneOf(REGION_IDS, 'auto'),
  deployNotifications: oneOf(['all', 'failure', 'none'], 'failure'),
  description: plainText(2000, { default: '' }),
  includePreviewLogs: Type.Boolean({ default: true }),
  notificationEmail: Type.Union([Type.Literal(''), Type.String({ format: 'email', maxLength: 254 })], { default: '' }),
  overlappingDeploys: oneOf(['cancel', 'wait'], 'cancel'),
  previewNotifications: Type.Boolean({ default: false }),
  requireMfa: Type.Boolean({ default: false }),
  securityContact: plainLine(254, { default: '' }),
  timezone: Type.String({ maxLength: MAX_TIME_ZONE_LENGTH, format: 'time-zone', default: 'Africa/Lagos' }),
};

export const WorkspaceConfigurationSchema = Type.Object(FIELDS, {
  $id: 'WorkspaceConfiguration',
  additionalProperties: false,
});

export type WorkspaceConfiguration = Static<typeof WorkspaceConfigurationSchema>;

export const DEFAULT_WORKSPACE_CONFIGURATION = defaultsOf<WorkspaceConfiguration>(FIELDS);

/** Changes of some of the settings. */
export const PartialWorkspaceConfigurationSchema = Type.Partial(Type.Object(withoutDefaults(FIELDS)), {
  $id: 'PartialWorkspaceConfiguration',
  additionalProperties: false,
});

/** Returns every setting of a workspace: what it has stored over the defaults. */
export function workspaceConfiguration(stored: Partial<WorkspaceConfiguration>): WorkspaceConfiguration {
  return { ...DEFAULT_WORKSPACE_CONFIGURATION, ...stored };
}

/** Rows as pg gives them to us. Column comments are in the migrations. */
export interface WorkspaceRow {
  id: string;
  name: string;
  plan: string;
  configuration: Partial<WorkspaceConfiguration>;
  created_at: Date;
  updated_at: Date;
}

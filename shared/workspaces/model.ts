import { type Static, Type } from 'typebox';
import { plainLine, plainText } from '../core/plain-text.js';
import { MAX_TIME_ZONE_LENGTH } from '../core/string-formats.js';
import { defaultsOf, describeFields, oneOf, withoutDefaults } from '../services/configuration.js';
import { REGION_IDS } from '../services/plan-catalog.js';

const DESCRIPTIONS = {
  allowOverages: 'Let deployments exceed the budget, and builds the minutes of the plan. A key cannot switch it on',
  avatarColor: 'The colour of the workspace in the console',
  budget:
    'What the services may cost in a month, in currency. A deployment that would exceed it is refused. 0: no budget',
  budgetAlerts: 'Send an e-mail to notificationEmail when the estimated costs reach 80 and 100 per cent of the budget',
  buildConcurrency: 'Deployments that run at the same time',
  currency: 'The currency of the budget and of estimates',
  defaultRegion: 'The region of services that are created without one',
  deployNotifications: 'Which deployments are mailed to notificationEmail when they end; a service may override it',
  description: 'A text for people',
  includePreviewLogs: 'Show the lines of previews in logs that are read without deploymentId',
  notificationEmail: 'The address for e-mails about deployments and the budget; empty: none',
  overlappingDeploys: 'Whether a newer deployment of a service cancels the older ones or waits for them',
  previewNotifications: 'Send an e-mail about every preview deployment that ends, whatever deployNotifications is',
  recordShells: 'Record what shells print, for admins. The first line of a shell says so',
  requireMfa: 'Members need a second factor for writes',
  securityContact: 'Who is told of security problems: a text for people',
  timezone: 'The time zone of times in e-mails, by its IANA name. The API uses UTC',
};

/** The settings of a workspace with their limits and defaults (specification, Workspace). */
const FIELDS = describeFields(DESCRIPTIONS, {
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
  currency: oneOf('Currency', ['USD', 'NGN'], 'USD'),
  defaultRegion: oneOf('RegionId', REGION_IDS, 'auto'),
  deployNotifications: oneOf('DeployNotifications', ['all', 'failure', 'none'], 'failure'),
  description: plainText(2000, { default: '' }),
  includePreviewLogs: Type.Boolean({ default: true }),
  notificationEmail: Type.Union([Type.Literal(''), Type.String({ format: 'email', maxLength: 254 })], { default: '' }),
  overlappingDeploys: oneOf('OverlappingDeploys', ['cancel', 'wait'], 'cancel'),
  previewNotifications: Type.Boolean({ default: false }),
  recordShells: Type.Boolean({ default: false }),
  requireMfa: Type.Boolean({ default: false }),
  securityContact: plainLine(254, { default: '' }),
  timezone: Type.String({ maxLength: MAX_TIME_ZONE_LENGTH, format: 'time-zone', default: 'Africa/Lagos' }),
});

export const WorkspaceConfigurationSchema = Type.Object(FIELDS, {
  $id: 'WorkspaceConfiguration',
  additionalProperties: false,
});

export type WorkspaceConfiguration = Static<typeof WorkspaceConfigurationSchema>;

export const DEFAULT_WORKSPACE_CONFIGURATION = defaultsOf<WorkspaceConfiguration>(FIELDS);

export const PartialWorkspaceConfigurationSchema = Type.Partial(Type.Object(withoutDefaults(FIELDS)), {
  $id: 'PartialWorkspaceConfiguration',
  additionalProperties: false,
});

/** Returns every setting of a workspace: the stored values, and the defaults of all other settings. */
export function workspaceConfiguration(stored: Partial<WorkspaceConfiguration>): WorkspaceConfiguration {
  return { ...DEFAULT_WORKSPACE_CONFIGURATION, ...stored };
}

export interface WorkspaceRow {
  id: string;
  name: string;
  plan: string;
  configuration: Partial<WorkspaceConfiguration>;
  created_at: Date;
  updated_at: Date;
}

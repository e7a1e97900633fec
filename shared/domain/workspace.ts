import { type Static, Type } from '@sinclair/typebox';
import { REGION_IDS } from './catalog.js';
import { oneOf, withoutDefaults } from './configuration.js';

/** A workspace's sixteen settings with their bounds and defaults (specification, Workspace). */
const FIELDS = {
  allowOverages: Type.Boolean({ default: false }),
  avatarColor: Type.String({ pattern: '^#[0-9a-fA-F]{6}$', default: '#c4b5fd' }),
  budget: Type.Number({ minimum: 0, maximum: 1_000_000_000, default: 0 }),
  budgetAlerts: Type.Boolean({ default: true }),
  buildConcurrency: Type.Integer({ minimum: 1, maximum: 100, default: 1 }),
  currency: oneOf(['USD', 'NGN'], 'USD'),
  defaultRegion: oneOf(REGION_IDS, 'auto'),
  deployNotifications: oneOf(['all', 'failure', 'none'], 'failure'),
  description: Type.String({ maxLength: 2000, default: '' }),
  includePreviewLogs: Type.Boolean({ default: true }),
  notificationEmail: Type.Union([Type.Literal(''), Type.String({ format: 'email', maxLength: 254 })], { default: '' }),
  overlappingDeploys: oneOf(['cancel', 'wait'], 'cancel'),
  previewNotifications: Type.Boolean({ default: false }),
  requireMfa: Type.Boolean({ default: false }),
  securityContact: Type.String({ maxLength: 254, default: '' }),
  timezone: Type.String({ maxLength: 64, format: 'time-zone', default: 'Africa/Lagos' }),
};

export const WorkspaceConfigurationSchema = Type.Object(FIELDS, {
  $id: 'WorkspaceConfiguration',
  additionalProperties: false,
});
export type WorkspaceConfiguration = Static<typeof WorkspaceConfigurationSchema>;

export const DEFAULT_WORKSPACE_CONFIGURATION: Readonly<WorkspaceConfiguration> = Object.freeze(
  Object.fromEntries(
    Object.entries(FIELDS).map(([name, field]) => [name, field.default]),
  ) as unknown as WorkspaceConfiguration,
);

/** Changes of some of the settings. */
export const PartialWorkspaceConfigurationSchema = Type.Partial(Type.Object(withoutDefaults(FIELDS)), {
  $id: 'PartialWorkspaceConfiguration',
  additionalProperties: false,
});

/** Every setting of a workspace: what it has stored over the defaults. */
export function workspaceConfiguration(stored: Partial<WorkspaceConfiguration>): WorkspaceConfiguration {
  return { ...DEFAULT_WORKSPACE_CONFIGURATION, ...stored };
}

/** True where a change allows costs that were not allowed before. */
export function consentsToPayment(before: WorkspaceConfiguration, after: WorkspaceConfiguration): boolean {
  return (after.allowOverages && !before.allowOverages) || after.budget > before.budget;
}

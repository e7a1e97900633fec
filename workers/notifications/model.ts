import type { TerminalState } from '../../shared/deployments/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { WorkspaceConfiguration } from '../../shared/workspaces/model.js';

/** The settings that determine who gets an e-mail about a deployment's end. */
export interface NotificationSettings {
  service: Pick<ServiceConfiguration, 'branch' | 'notifications'>;
  workspace: Pick<WorkspaceConfiguration, 'deployNotifications' | 'notificationEmail' | 'previewNotifications'>;
}

/** The end of a deployment: its result, its branch, and whether its service is or was a preview. */
export interface End {
  status: TerminalState;
  branch: string;
  is_preview: boolean;
}

/**
 * Returns the address to which the e-mail about a deployment's end is sent; null for none. A service's own setting
 * overrides its workspace's; previews have an additional setting.
 */
export function recipientOf(
  { status, branch, is_preview }: End,
  { service, workspace }: NotificationSettings,
): string | null {
  const setting = service.notifications === 'workspace' ? workspace.deployNotifications : service.notifications;
  const preview = workspace.previewNotifications && (is_preview || branch !== service.branch);
  const wanted = preview || setting === 'all' || (setting === 'failure' && status === 'failed');
  return wanted && workspace.notificationEmail !== '' ? workspace.notificationEmail : null;
}

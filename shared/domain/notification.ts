import type { ServiceConfiguration } from './configuration.js';
import type { TerminalStatus } from './deployment.js';
import type { WorkspaceConfiguration } from './workspace.js';

/** Whose settings say who is told of a deployment's end. */
export interface NotificationSettings {
  service: Pick<ServiceConfiguration, 'branch' | 'notifications'>;
  workspace: Pick<WorkspaceConfiguration, 'deployNotifications' | 'notificationEmail' | 'previewNotifications'>;
}

/** How a deployment ended, and of which branch it was. */
export interface End {
  status: TerminalStatus;
  branch: string;
}

/**
 * The address that is told of this end, or null. A service's own setting goes before its workspace's; previews have one
 * of their own besides.
 */
export function recipientOf({ status, branch }: End, { service, workspace }: NotificationSettings): string | null {
  const setting = service.notifications === 'workspace' ? workspace.deployNotifications : service.notifications;
  const preview = workspace.previewNotifications && branch !== service.branch;
  const wanted = preview || setting === 'all' || (setting === 'failure' && status === 'failed');
  return wanted && workspace.notificationEmail !== '' ? workspace.notificationEmail : null;
}

import type { ServiceConfiguration } from './configuration.js';
import type { TerminalStatus } from './deployment.js';
import type { WorkspaceConfiguration } from './workspace.js';

/** Whose settings say who is told of a deployment's end. */
export interface NotificationSettings {
  service: Pick<ServiceConfiguration, 'notifications'>;
  workspace: Pick<WorkspaceConfiguration, 'deployNotifications' | 'notificationEmail'>;
}

/** The address that is told of this end, or null. A service's own setting goes before its workspace's. */
export function recipientOf(status: TerminalStatus, { service, workspace }: NotificationSettings): string | null {
  const setting = service.notifications === 'workspace' ? workspace.deployNotifications : service.notifications;
  const wanted = setting === 'all' || (setting === 'failure' && status === 'failed');
  return wanted && workspace.notificationEmail !== '' ? workspace.notificationEmail : null;
}

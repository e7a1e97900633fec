import type { TerminalState } from '../../shared/deployments/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { WorkspaceConfiguration } from '../../shared/workspaces/model.js';

export interface NotificationSettings {
  service: Pick<ServiceConfiguration, 'branch' | 'notifications'>;
  workspace: Pick<WorkspaceConfiguration, 'deployNotifications' | 'notificationEmail' | 'previewNotifications'>;
}

export interface End {
  status: TerminalState;
  branch: string;
  is_preview: boolean;
}

/** Returns the address for the mail about a deployment's end; null if no mail is to be sent. */
export function recipientOf(
  { status, branch, is_preview }: End,
  { service, workspace }: NotificationSettings,
): string | null {
  const setting = service.notifications === 'workspace' ? workspace.deployNotifications : service.notifications;
  const preview = workspace.previewNotifications && (is_preview || branch !== service.branch);
  const wanted = preview || setting === 'all' || (setting === 'failure' && status === 'failed');
  return wanted && workspace.notificationEmail !== '' ? workspace.notificationEmail : null;
}

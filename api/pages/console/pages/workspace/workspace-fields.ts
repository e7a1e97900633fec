import type { FieldGroup } from '../settings/schema-form.js';

/** The fields of the workspace's settings. All take effect at once. */
export const WORKSPACE_GROUPS: readonly FieldGroup[] = [
  {
    title: 'Deployments',
    fields: [
      {
        name: 'buildConcurrency',
        label: 'Build concurrency',
        hint: 'How many builds run at the same time; others wait',
      },
      {
        name: 'overlappingDeploys',
        label: 'Overlapping deployments',
        hint: 'Whether a new deployment cancels the one that runs, or waits for it',
      },
      { name: 'defaultRegion', label: 'Default region', hint: 'The region of new services' },
      { name: 'timezone', label: 'Time zone', hint: 'The time zone of the workspace, such as Europe/Berlin' },
    ],
  },
  {
    title: 'E-mail notifications',
    fields: [
      { name: 'notificationEmail', label: 'Notification e-mail', hint: 'The address that receives the e-mails below' },
      { name: 'deployNotifications', label: 'Deployment e-mails', hint: 'Which deployments send an e-mail' },
      { name: 'previewNotifications', label: 'Preview e-mails', hint: 'Every deployment of a preview sends an e-mail' },
      {
        name: 'includePreviewLogs',
        label: 'Preview logs',
        hint: 'Show the lines of previews in the log of the service',
      },
      { name: 'securityContact', label: 'Security contact', hint: 'Who is contacted about a security problem' },
    ],
  },
  {
    title: 'Billing',
    fields: [
      { name: 'currency', label: 'Currency', hint: 'The currency of prices and of the budget' },
      { name: 'budget', label: 'Monthly budget', hint: 'Deployments beyond it are refused; 0 for no budget' },
      { name: 'budgetAlerts', label: 'Budget alerts', hint: 'Send an e-mail at 80 % and at 100 % of the budget' },
      {
        name: 'allowOverages',
        label: 'Allow overages',
        hint: 'Deployments may exceed the budget and the build minutes',
      },
    ],
  },
  {
    title: 'Security and appearance',
    fields: [
      { name: 'requireMfa', label: 'Require two-factor authentication', hint: 'Members without it can only read' },
      {
        name: 'recordShells',
        label: 'Record shells',
        hint: 'Admins can replay what shells print; their users are told so',
      },
      { name: 'description', label: 'Description', hint: 'Shown to members' },
      { name: 'avatarColor', label: 'Colour', hint: 'The colour of the workspace, as #rrggbb' },
    ],
  },
];

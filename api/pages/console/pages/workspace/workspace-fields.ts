import type { FieldGroup } from '../settings/schema-form.js';

/** The settings of a workspace; all act at once. */
export const WORKSPACE_GROUPS: readonly FieldGroup[] = [
  {
    title: 'Deployments',
    fields: [
      { name: 'buildConcurrency', label: 'Build concurrency', hint: 'Others wait and say so' },
      {
        name: 'overlappingDeploys',
        label: 'Overlapping deployments',
        hint: 'cancels the older one, or waits for it',
      },
      { name: 'defaultRegion', label: 'Default region' },
      { name: 'timezone', label: 'Time zone' },
    ],
  },
  {
    title: 'E-mails',
    fields: [
      { name: 'notificationEmail', label: 'Address' },
      { name: 'deployNotifications', label: 'Deployment e-mails' },
      { name: 'previewNotifications', label: 'Preview e-mails' },
      { name: 'includePreviewLogs', label: 'Logs of previews' },
      { name: 'securityContact', label: 'Security contact' },
    ],
  },
  {
    title: 'Cost',
    fields: [
      { name: 'currency', label: 'Currency' },
      { name: 'budget', label: 'Monthly budget', hint: '0 for none' },
      { name: 'budgetAlerts', label: 'Budget alerts' },
      { name: 'allowOverages', label: 'Allow overages' },
    ],
  },
  {
    title: 'Access and appearance',
    fields: [
      { name: 'requireMfa', label: 'Require a second factor for writes' },
      { name: 'description', label: 'Description' },
      { name: 'avatarColor', label: 'Colour', hint: 'As #rrggbb' },
    ],
  },
];

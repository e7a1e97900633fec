import type { FieldGroup } from '../settings/schema-form.js';

/** The settings of a workspace; all act at once. */
export const WORKSPACE_GROUPS: readonly FieldGroup[] = [
  {
    title: 'Deployments',
    fields: [
      { name: 'buildConcurrency', label: 'Builds at once', hint: 'Others wait and say so' },
      {
        name: 'overlappingDeploys',
        label: 'A newer deployment of a service',
        hint: 'cancels the older one, or waits for it',
      },
      { name: 'defaultRegion', label: 'Region of new services' },
      { name: 'timezone', label: 'Time zone' },
    ],
  },
  {
    title: 'Mails',
    fields: [
      { name: 'notificationEmail', label: 'Address' },
      { name: 'deployNotifications', label: 'About deployments' },
      { name: 'previewNotifications', label: 'About previews as well' },
      { name: 'includePreviewLogs', label: 'Logs of previews' },
      { name: 'securityContact', label: 'Contact for security' },
    ],
  },
  {
    title: 'Cost',
    fields: [
      { name: 'currency', label: 'Currency' },
      { name: 'budget', label: 'Budget a month', hint: '0 for none' },
      { name: 'budgetAlerts', label: 'Warn as it is used up' },
      { name: 'allowOverages', label: 'Deploy beyond the budget' },
    ],
  },
  {
    title: 'Access and looks',
    fields: [
      { name: 'requireMfa', label: 'Writes need a second factor' },
      { name: 'description', label: 'Description' },
      { name: 'avatarColor', label: 'Colour', hint: 'As #rrggbb' },
    ],
  },
];

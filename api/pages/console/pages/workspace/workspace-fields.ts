import type { Schemas } from '../../api/types.js';
import type { FieldGroup } from '../settings/schema-form.js';

type Texts = { readonly [Name in keyof Schemas['WorkspaceConfiguration']]?: [label: string, hint: string] };

function group(title: string, texts: Texts): FieldGroup {
  return { title, fields: Object.entries(texts).map(([name, [label, hint]]) => ({ name, label, hint })) };
}

export const WORKSPACE_GROUPS: readonly FieldGroup[] = [
  group('Deployments', {
    buildConcurrency: ['Build concurrency', 'How many builds run at the same time; others wait'],
    overlappingDeploys: [
      'Overlapping deployments',
      'Whether a new deployment cancels the one that runs, or waits for it',
    ],
    defaultRegion: ['Default region', 'The region of new services'],
    timezone: ['Time zone', 'The time zone of the workspace, such as Europe/Berlin'],
  }),
  group('E-mail notifications', {
    notificationEmail: ['Notification e-mail', 'The address that receives the e-mails below'],
    deployNotifications: ['Deployment e-mails', 'Which deployments send an e-mail'],
    previewNotifications: ['Preview e-mails', 'Every deployment of a preview sends an e-mail'],
    includePreviewLogs: ['Preview logs', 'Show the lines of previews in the log of the service'],
    securityContact: ['Security contact', 'Who is contacted about a security problem'],
  }),
  group('Billing', {
    currency: ['Currency', 'The currency of prices and of the budget'],
    budget: ['Monthly budget', 'Deployments beyond it are refused; 0 for no budget'],
    budgetAlerts: ['Budget alerts', 'Send an e-mail at 80 % and at 100 % of the budget'],
    allowOverages: ['Allow overages', 'Deployments may exceed the budget and the build minutes'],
  }),
  group('Security and appearance', {
    requireMfa: ['Require two-factor authentication', 'Members without it can only read'],
    recordShells: ['Record shells', 'Admins can replay what shells print; their users are told so'],
    description: ['Description', 'Shown to members'],
    avatarColor: ['Colour', 'The colour of the workspace, as #rrggbb'],
  }),
];

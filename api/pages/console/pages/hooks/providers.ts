import type { BodyOf, OperationOf, Schemas } from '../../api/types.js';

export type Provider = Schemas['Hook']['provider'];

export const PROVIDERS: readonly { value: Provider; text: string }[] = [
  { value: 'github', text: 'GitHub' },
  { value: 'gitlab', text: 'GitLab' },
  { value: 'gitea', text: 'Gitea or Forgejo' },
  { value: 'generic', text: 'Deploy hook (any HTTP client)' },
];

export function providerText(provider: Provider): string {
  return provider === 'generic' ? 'Deploy hook' : (PROVIDERS.find(({ value }) => value === provider)?.text ?? provider);
}

export const PROVIDER_HELP: Readonly<Record<Provider, string>> = {
  github:
    'In the repository: Settings, Webhooks, Add webhook. Payload URL and secret as below, content type application/json, event “push”.',
  gitlab:
    'In the project: Settings, Webhooks, Add new webhook. The secret is its secret token, the trigger “Push events”.',
  gitea: 'In the repository: Settings, Webhooks, Add webhook, Gitea. Method POST, content type application/json.',
  generic: 'Each POST request to this URL deploys the service. Anyone who knows it can deploy: keep it secret.',
};

/** The URL and the secret of a new incoming webhook. A deploy hook has its secret in the URL. */
export interface Shown {
  provider: Provider;
  secrets: { label: string; value: string }[];
}

export function shownOf({ provider, url, secret }: { provider: Provider; url: string; secret: string }): Shown {
  const address = { label: 'URL', value: url };
  return { provider, secrets: provider === 'generic' ? [address] : [address, { label: 'Secret', value: secret }] };
}

type WebhookBody = NonNullable<BodyOf<OperationOf<'/workspaces/{workspaceId}/webhooks', 'post'>>>;
export type WebhookEvent = WebhookBody['events'][number];
type WebhookFormat = Schemas['Webhook']['format'];

export const FORMATS: readonly { value: WebhookFormat; text: string }[] = [
  { value: 'json', text: 'Signed JSON, for your own program' },
  { value: 'slack', text: 'Slack message' },
  { value: 'discord', text: 'Discord message' },
  { value: 'teams', text: 'Microsoft Teams message' },
];

export const FORMAT_HELP: Readonly<Record<WebhookFormat, string>> = {
  json: 'Sends an HTTP POST request for each event.',
  slack: 'In Slack: an app with Incoming Webhooks, Add New Webhook to Workspace. The URL is a secret.',
  discord: 'In Discord: Edit Channel, Integrations, Webhooks, New Webhook. The URL is a secret.',
  teams: 'In Teams: Workflows, “Send webhook alerts to a channel”. The URL is a secret.',
};

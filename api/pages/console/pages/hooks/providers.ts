import type { BodyOf, OperationOf, Schemas } from '../../api/types.js';

export type Provider = Schemas['Hook']['provider'];

export const PROVIDERS: readonly { value: Provider; text: string }[] = [
  { value: 'github', text: 'GitHub' },
  { value: 'gitlab', text: 'GitLab' },
  { value: 'gitea', text: 'Gitea or Forgejo' },
  { value: 'generic', text: 'Anything that can call an address' },
];

export function providerText(provider: Provider): string {
  return provider === 'generic'
    ? 'a deploy hook'
    : (PROVIDERS.find(({ value }) => value === provider)?.text ?? provider);
}

/** The settings page of each provider that takes the address and the secret of a new hook. */
export const PROVIDER_HELP: Readonly<Record<Provider, string>> = {
  github: 'In the repository: Settings, Webhooks, Add webhook. Content type application/json, event “push”.',
  gitlab:
    'In the project: Settings, Webhooks, Add new webhook. The secret is its secret token, the trigger “Push events”.',
  gitea: 'In the repository: Settings, Webhooks, Add webhook, Gitea. Method POST, content type application/json.',
  generic: 'Whoever knows this address deploys: keep it as a secret. Each POST to it is a deployment.',
};

/** The address and secret of a new hook, which the console shows only once. The address of a deploy hook contains its secret. */
export interface Shown {
  provider: Provider;
  secrets: { label: string; value: string }[];
}

export function shownOf({ provider, url, secret }: { provider: Provider; url: string; secret: string }): Shown {
  const address = { label: 'Address', value: url };
  return { provider, secrets: provider === 'generic' ? [address] : [address, { label: 'Secret', value: secret }] };
}

type WebhookBody = NonNullable<BodyOf<OperationOf<'/workspaces/{workspaceId}/webhooks', 'post'>>>;
export type WebhookEvent = WebhookBody['events'][number];

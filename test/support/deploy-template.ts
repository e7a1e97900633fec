import { parse } from 'yaml';
import { textOf } from '../../api/resources/stacks/templates/present.js';
import type { StackDocument } from '../../shared/stacks/document-schema.js';
import type { Template } from '../../shared/templates/read-template.js';
import type { Question } from '../../shared/templates/template-file.js';
import type { Json } from './api.js';
import { readLogs } from './deployments.js';
import type { Platform } from './platform.js';
import { eventually } from './processes.js';

const APPLY_MS = 1_500_000;
/** How long a registry may take to answer. */
const REGISTRY_MS = 10_000;
const MAX_LOG_LINES = 30;

/** Returns why a template cannot be deployed from this machine, or null. */
export async function reasonAgainst(template: Template): Promise<string | null> {
  const { services = {} } = parse(textOf(template.document())) as StackDocument;
  for (const { image, repository } of Object.values(services)) {
    if (typeof image === 'string') {
      const registry = image.split('/')[0]?.replace(/^docker\.io$/, 'registry-1.docker.io');
      if (!(await answers(`https://${registry}/v2/`))) return `the registry ${registry} does not answer`;
    }
    if (String(repository).startsWith('starter:') && !(await answers('https://registry.npmjs.org/')))
      return 'the npm registry does not answer';
  }
  return null;
}

/** Applies a template with its defaults and examples. Returns its service with the URL. */
export async function deployTemplate({ client }: Platform, template: string, environmentId: string): Promise<Json> {
  const found = await client.expect<{ template: { questions: Question[] } }>('GET', `/templates/${template}`);
  const { questions } = found.template;
  const name = template.replace(/^.*\./, '');
  const values = Object.fromEntries(questions.map((each) => [each.name, each.default || each.example]));
  const { plan, document } = await client.expect<Json>('POST', '/stacks/plan', {
    name,
    template,
    environmentId,
    values,
  });
  const secrets = Object.fromEntries(
    questions.filter(({ secret }) => secret).map((each) => [each.name, values[each.name]]),
  );
  const { apply } = await client.expect<Json>('POST', `/stacks/${name}/apply`, {
    ...{ document, planHash: plan.hash, environmentId },
    values: secrets,
  });
  const ended = await eventually(
    `the template ${name} is deployed`,
    async () => {
      const { apply: now } = await client.expect<Json>('GET', `/stacks/${name}/applies/${apply.id}`);
      return now.finishedAt === null ? undefined : now;
    },
    APPLY_MS,
  );
  const { services } = await client.expect<Json>('GET', '/services');
  const service = services.find((each: Json) => each.name === name);
  if (ended.status === 'succeeded') return service;
  const lines = (await readLogs(client, service.id)).slice(-MAX_LOG_LINES).map(({ message }) => `  ${message}`);
  throw new Error([ended.error, ...lines].join('\n'));
}

async function answers(address: string): Promise<boolean> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(REGISTRY_MS) }).catch(() => null);
  await answer?.body?.cancel();
  return answer !== null;
}

/** Programs of users of the generated clients. They are text, because the modules that they import are generated. */

const START = `
import { setTimeout as delay } from 'node:timers/promises';
const { BASE_URL = '', KEY = '', WORKSPACE_ID: workspaceId = '', TOKEN: token = '', REPOSITORY: repository = '' } = process.env;
`;

const HEY_API = `${START}
import { client } from './hey-api/client.gen.js';
import { deploymentCreate, deploymentRead, logRead, serviceCreate, sessionCreateFromLink } from './hey-api/sdk.gen.js';

client.setConfig({ baseUrl: BASE_URL, auth: ({ type }) => (type === 'http' ? KEY : undefined) });
const throwOnError = true;
const signedIn = await sessionCreateFromLink({ body: { token }, throwOnError });
if (signedIn.data.user?.email === undefined) throw new Error('not signed in');
const created = await serviceCreate({
  path: { workspaceId },
  headers: { 'Idempotency-Key': 'hey-api' },
  body: { name: 'hey-api', kind: 'web', configuration: { repository, buildCommand: 'echo built' } },
  throwOnError,
});
const path = { workspaceId, serviceId: created.data.service.id };
let { deployment } = (await deploymentCreate({ path, body: {}, throwOnError })).data;
while (deployment.finishedAt === null) {
  await delay(500);
  const answer = await deploymentRead({ path: { ...path, deploymentId: deployment.id }, throwOnError });
  deployment = answer.data.deployment;
}
if (deployment.status !== 'live') throw new Error(deployment.error);
for (;;) {
  const log = await logRead({ path, query: { deploymentId: deployment.id, source: 'build' }, throwOnError });
  if (log.data.items.some(({ message }) => message === 'built')) break;
  await delay(500);
}
`;

const OPENAPI_TYPESCRIPT = `${START}
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-typescript.js';

const client = createClient<paths>({ baseUrl: BASE_URL, headers: { Authorization: 'Bearer ' + KEY } });
const SERVICE = '/v1/workspaces/{workspaceId}/services/{serviceId}';

function data<T>(answer: { data?: T; error?: components['schemas']['ErrorResponse'] }): T {
  if (answer.data === undefined) throw new Error(answer.error?.error.message);
  return answer.data;
}

const { user } = data(await client.POST('/session/link', { body: { token } }));
if (user?.email === undefined) throw new Error('not signed in');
const { service } = data(
  await client.POST('/v1/workspaces/{workspaceId}/services', {
    params: { path: { workspaceId }, header: { 'Idempotency-Key': 'openapi-typescript' } },
    body: { name: 'typed', kind: 'web', configuration: { repository, buildCommand: 'echo built' } },
  }),
);
const path = { workspaceId, serviceId: service.id };
let { deployment } = data(await client.POST(\`\${SERVICE}/deploys\`, { params: { path }, body: {} }));
while (deployment.finishedAt === null) {
  await delay(500);
  const params = { path: { ...path, deploymentId: deployment.id } };
  ({ deployment } = data(await client.GET(\`\${SERVICE}/deploys/{deploymentId}\`, { params })));
}
if (deployment.status !== 'live') throw new Error(deployment.error);
for (;;) {
  const query = { deploymentId: deployment.id, source: 'build' } as const;
  const { items } = data(await client.GET(\`\${SERVICE}/logs\`, { params: { path, query } }));
  if (items.some(({ message }) => message === 'built')) break;
  await delay(500);
}
`;

/** Name of a generator → the program that uses its client. */
export const MAIN_JOBS = { 'hey-api': HEY_API, 'openapi-typescript': OPENAPI_TYPESCRIPT } as const;

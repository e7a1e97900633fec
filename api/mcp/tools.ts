import type { Tool } from '@modelcontextprotocol/server';
import type { Endpoint } from '../http/endpoint.js';
import { ROUTES } from '../resources/index.js';

/**
 * The operations that agents may call. None of them reveals credentials, or manages keys, members or the workspace.
 * Only `stack.apply` can delete a resource.
 */
const ALLOWED = new Set([
  ...['workspace.read', 'project.list', 'project.read', 'catalog.read'],
  ...['service.list', 'service.read', 'service.create', 'service.update', 'service.action', 'detection.create'],
  ...['deployment.list', 'deployment.list-workspace', 'deployment.read'],
  ...['deployment.create', 'deployment.cancel', 'deployment.rollback'],
  ...['operation.list', 'operation.read', 'run.list', 'run.read', 'run.create', 'run.cancel'],
  ...['log.read', 'metrics.read', 'domain.list', 'volume.list', 'backup.list', 'preview.list', 'preview.create'],
  ...['template.list', 'template.fill', 'stack.list', 'stack.read', 'stack.pull', 'stack.plan', 'stack.apply'],
  ...['stack.list-applies', 'stack.read-apply', 'stack.cancel-apply', 'stack.rollback'],
]);
/** Writes that have no effect on running services. */
const HARMLESS = new Set(['stack.plan', 'template.fill', 'detection.create']);
/** Writes that can change or interrupt what visitors see. */
const DESTRUCTIVE = new Set([
  ...['service.update', 'service.action', 'deployment.cancel', 'deployment.rollback'],
  ...['stack.apply', 'stack.rollback', 'run.cancel'],
]);

interface ObjectSchema {
  properties?: Record<string, object>;
  required?: readonly string[];
}

export interface ApiTool {
  tool: Tool;
  endpoint: Endpoint;
}

/** Returns the tools for agents by name. Their inputs are the path parameters, query and body of an operation. */
export function apiTools(): Map<string, ApiTool> {
  const allowed = ROUTES.filter(({ operation }) => ALLOWED.has(operation));
  return new Map(allowed.map((endpoint) => [toolName(endpoint), { tool: toolOf(endpoint), endpoint }]));
}

/** Returns the names of the parameters in a path. Omits `workspaceId`, which the key determines. */
export function parametersIn(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name).filter((name) => name !== 'workspaceId');
}

function toolName({ operation }: Endpoint): string {
  return operation.replace(/[.-]/g, '_');
}

function toolOf(endpoint: Endpoint): Tool {
  const { operation, method, summary, description, path, query, body } = endpoint;
  const parameters = parametersIn(path);
  const parts = [query, body ?? {}].map(plain);
  const readOnlyHint = method === 'GET' || HARMLESS.has(operation);
  return {
    name: toolName(endpoint),
    title: summary,
    description,
    inputSchema: {
      type: 'object',
      properties: Object.assign(
        Object.fromEntries(parameters.map((name) => [name, { type: 'string' }])),
        ...parts.map(({ properties }) => properties),
      ),
      required: [...parameters, ...parts.flatMap(({ required = [] }) => required)],
      additionalProperties: false,
    },
    annotations: { readOnlyHint, destructiveHint: DESTRUCTIVE.has(operation), openWorldHint: false },
  };
}

/** Copies a schema without `$id`. Several tools would have the same `$id`, which some clients refuse. */
function plain(schema: object): ObjectSchema {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value)));
}

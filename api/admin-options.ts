import { parseArgs } from 'node:util';
import type { TSchema } from '@sinclair/typebox';
import { validate as isUuid } from 'uuid';
import { WorkspaceConfigurationSchema } from '../shared/domain/workspace.js';
import { errorMessage } from '../shared/errors.js';

/** The command line itself is wrong: the usage is shown and the exit code is 2. */
export class UsageError extends Error {}

export type Options = ReturnType<typeof parse>['values'];

/** The command line's options and the words before them. Throws UsageError. */
export function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        name: { type: 'string' },
        owner: { type: 'string' },
        workspace: { type: 'string' },
        set: { type: 'string', multiple: true },
        email: { type: 'string' },
        password: { type: 'string' },
        server: { type: 'string' },
        username: { type: 'string' },
        verified: { type: 'boolean' },
        role: { type: 'string' },
        scope: { type: 'string' },
        expires: { type: 'string' },
        id: { type: 'string' },
        plan: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

/** The options that are a text of their own. */
type TextOption = Exclude<keyof Options, 'set' | 'verified' | 'json' | 'help'>;

export function required(options: Options, name: TextOption): string {
  const value = options[name];
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing`);
  return value;
}

export function workspaceId(options: Options): string {
  return uuid(required(options, 'workspace'), 'workspace');
}

export function uuid(value: string, name: string): string {
  if (!isUuid(value)) throw new UsageError(`--${name} must be a UUID, not "${value}"`);
  return value;
}

export function choice<T extends string>(value: string, name: string, values: readonly T[]): T {
  const found = values.find((v) => v === value);
  if (found === undefined) throw new UsageError(`--${name} must be one of ${values.join(', ')}, not "${value}"`);
  return found;
}

export function time(value: string): Date {
  const date = new Date(value);
  if (!/^\d{4}-\d\d-\d\d/.test(value) || Number.isNaN(date.getTime())) {
    throw new UsageError(`--expires must be an ISO 8601 time such as 2030-01-31T12:00:00Z, not "${value}"`);
  }
  return date;
}

/** `key=value` pairs; numbers and booleans are read as such where the setting is one. What is wrong, the command says. */
export function settings(pairs: string[]): Record<string, unknown> {
  const properties: Record<string, TSchema> = WorkspaceConfigurationSchema.properties;
  const changes: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--set takes key=value, not "${pair}"`);
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const type: unknown = properties[key]?.type;
    const number = Number(value);
    if (type === 'boolean' && (value === 'true' || value === 'false')) changes[key] = value === 'true';
    else if ((type === 'number' || type === 'integer') && value.trim() !== '' && !Number.isNaN(number))
      changes[key] = number;
    else changes[key] = value;
  }
  return changes;
}

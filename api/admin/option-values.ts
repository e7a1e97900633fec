import { type Command, InvalidArgumentError } from 'commander';
import type { TSchema } from 'typebox';
import { validate as isUuid } from 'uuid';
import { WorkspaceConfigurationSchema } from '../../shared/workspaces/model.js';

/** Parsers of option values. Each throws InvalidArgumentError with a message that says which values are valid. */

export function text(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return value;
}

export function uuid(value: string): string {
  if (!isUuid(value)) throw new InvalidArgumentError('It must be a UUID.');
  return value;
}

export function oneOf<T extends string>(option: string, values: readonly T[]): (value: string) => T {
  return (value) => {
    const found = values.find((known) => known === value);
    if (found === undefined) throw new InvalidArgumentError(`${option} must be one of ${values.join(', ')}.`);
    return found;
  };
}

export function time(value: string): Date {
  const date = new Date(value);
  if (!/^\d{4}-\d\d-\d\d/.test(value) || Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('It must be an ISO 8601 time such as 2030-01-31T12:00:00Z.');
  }
  return date;
}

/**
 * Adds a `key=value` pair to `earlier`. Converts the value to the type that the workspace's configuration has for the
 * key.
 */
export function setting(pair: string, earlier: Record<string, unknown> = {}): Record<string, unknown> {
  const at = pair.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be key=value.');
  const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
  return { ...earlier, [key]: settingValue(key, value) };
}

function settingValue(key: string, value: string): unknown {
  const properties: Record<string, TSchema & { type?: unknown }> = WorkspaceConfigurationSchema.properties;
  const type = properties[key]?.type;
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  const isNumber = value.trim() !== '' && !Number.isNaN(Number(value));
  return (type === 'number' || type === 'integer') && isNumber ? Number(value) : value;
}

/** Rejects an option that was parsed as another option's value, as in `--password --verified`. */
export function refuseSwallowedOptions(command: Command): void {
  const flags = new Set(command.options.map(({ long }) => long));
  for (const option of command.options) {
    command.on(`option:${option.name()}`, (value: string | null) => {
      if (value !== null && flags.has(value)) command.error(`error: option '${option.flags}' argument missing`);
    });
  }
}

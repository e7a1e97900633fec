import { isIP } from 'node:net';
import { isSchedule, MAX_SCHEDULE_LENGTH } from './cron-expression.js';

export const STACK_NAME_PATTERN = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';
/** `name` is a template of the platform, `source.name` a template of a source that a workspace has added. */
export const TEMPLATE_NAME_PATTERN =
  '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';

export const MAX_IP_RANGE_LENGTH = 49;
export const MAX_TIME_ZONE_LENGTH = 64;

/** Returns the string formats that our schemas add to ajv, each with its check. */
export function stringFormats(now: () => Date): Record<string, (value: string) => boolean> {
  return {
    'ip-range': atMost(MAX_IP_RANGE_LENGTH, isIpRange),
    'time-zone': atMost(MAX_TIME_ZONE_LENGTH, isTimeZone),
    branch: isBranchName,
    cron: atMost(MAX_SCHEDULE_LENGTH, (value) => isSchedule(value, now())),
  };
}

/** Limits a check to short strings. A JSON Schema validator checks the format even if a string exceeds maxLength. */
export function atMost(length: number, isValid: (value: string) => boolean): (value: string) => boolean {
  return (value) => value.length <= length && isValid(value);
}

export function isIpRange(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}

/** Returns true for names of branches, tags and commits that git accepts and that need no quoting. */
export function isBranchName(name: string): boolean {
  return (
    /^[A-Za-z0-9._/#@+-]{1,255}$/.test(name) &&
    !/^[-/]|\.\.|\/\/|[/.]$/.test(name) &&
    !name.split('/').some((part) => part.startsWith('.') || part.endsWith('.lock')) &&
    name !== '@'
  );
}

function isTimeZone(value: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return value !== '';
  } catch {
    return false;
  }
}

import { isIP } from 'node:net';
import { isSchedule, MAX_SCHEDULE_LENGTH } from './cron-expression.js';

/** Pattern of a stack's name. The name is part of URL paths. */
export const STACK_NAME_PATTERN = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';
/**
 * Pattern of a template's name: `name` for a template of the platform itself, `source.name` for one from a repository
 * that a workspace has added (a template source).
 */
export const TEMPLATE_NAME_PATTERN =
  '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';

/** Length of the longest IP range: IPv6 with an embedded IPv4 address and a prefix length. */
export const MAX_IP_RANGE_LENGTH = 49;
export const MAX_TIME_ZONE_LENGTH = 64;

/**
 * Returns the non-standard string formats of our schemas for ajv, each with its check. The check of schedules reads the
 * current time from `now`.
 */
export function stringFormats(now: () => Date): Record<string, (value: string) => boolean> {
  return {
    'ip-range': atMost(MAX_IP_RANGE_LENGTH, isIpRange),
    'time-zone': atMost(MAX_TIME_ZONE_LENGTH, isTimeZone),
    branch: isBranchName,
    cron: atMost(MAX_SCHEDULE_LENGTH, (value) => isSchedule(value, now())),
  };
}

/**
 * Returns a check that rejects a string of more than `length` characters without calling `isValid`. A JSON Schema
 * validator checks the format even if the string exceeds maxLength.
 */
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

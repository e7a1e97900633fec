import { isIP } from 'node:net';
import { validate as isCron } from 'node-cron';

/** The string formats of our schemas beyond the standard ones; ajv is given this table. */
export const FORMATS: Record<string, (value: string) => boolean> = {
  'ip-range': isIpRange,
  'time-zone': isTimeZone,
  cron: (value) => value.trim().split(/\s+/).length === 5 && isCron(value),
};

function isIpRange(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}

function isTimeZone(value: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return value !== '';
  } catch {
    return false;
  }
}

import { isIP } from 'node:net';
import { Sensitive } from '../sensitive.js';

export const PROCESSES = ['start', 'api', 'worker', 'edge', 'migrate', 'admin'] as const;
/** `start` is the launcher, which `npm start` runs. */
export type Process = (typeof PROCESSES)[number];

export interface Setting<T> {
  kind: Kind<T>;
  processes: readonly Process[];
  /** Markdown for the documentation. */
  meaning: string;
  /** The default in words; if undefined, the documentation shows `kind.fallback`. */
  shownDefault: string | undefined;
}

/** `problem` continues a sentence that begins with the variable's name. `given` is the invalid text. */
export type Report = (problem: string, given?: string) => void;

export interface Kind<T> {
  /** The returned value is used only if no problem was reported. */
  parse(text: string, report: Report): T;
  fallback: string;
  /** True if messages must not include the text. */
  secret: boolean;
}

export function setting<T>(
  kind: Kind<T>,
  processes: readonly Process[] | 'all',
  meaning: string,
  shownDefault?: string,
): Setting<T> {
  return { kind, processes: processes === 'all' ? PROCESSES : processes, meaning, shownDefault };
}

export function settingsOf(...processes: Process[]) {
  return <T>(kind: Kind<T>, meaning: string, shownDefault?: string): Setting<T> =>
    setting(kind, processes, meaning, shownDefault);
}

export interface Rule {
  valid: (text: string) => boolean;
  problem: string;
}

export const IP_ADDRESS: Rule = {
  valid: (text) => isIP(text) !== 0,
  problem: 'must be an IP address such as 127.0.0.1',
};

/** Returns a rule that accepts URLs with one of these schemes, given as a pattern such as `https?`. */
export function urlOf(schemes: string, problem: string): Rule {
  const begin = new RegExp(`^(${schemes})://`);
  return { valid: (text) => begin.test(text) && URL.canParse(text), problem };
}

function parseText(text: string, report: Report, rule?: Rule): string {
  if (rule && !rule.valid(text)) report(rule.problem, text);
  return text;
}

export function text(fallback: string, rule?: Rule): Kind<string> {
  return { fallback, secret: false, parse: (given, report) => parseText(given, report, rule) };
}

/** Accepts any string that satisfies the rule. If the variable is absent or empty, its value is null. */
export function optional(rule?: Rule): Kind<string | null> {
  return {
    fallback: '',
    secret: false,
    parse: (given, report) => (given === '' ? null : parseText(given, report, rule)),
  };
}

/** Accepts a string, and reports a problem if the variable is absent. `hint` says what to set. */
export function required(hint: string, rule?: Rule): Kind<string> {
  const parse = (given: string, report: Report) => {
    if (given !== '') return parseText(given, report, rule);
    report(`is not set: ${hint}`);
    return '';
  };
  return { fallback: '', secret: false, parse };
}

/** Wraps the parsed value so that it prints as [REDACTED]. */
export function secret(kind: Kind<string>): Kind<Sensitive>;
export function secret(kind: Kind<string | null>): Kind<Sensitive | null>;
export function secret(kind: Kind<string | null>): Kind<Sensitive | null> {
  const parse = (given: string, report: Report) => {
    const value = kind.parse(given, report);
    return value === null ? null : new Sensitive(value);
  };
  return { ...kind, secret: true, parse };
}

export function secrets(kind: Kind<string[]>): Kind<Sensitive[]> {
  const parse = (given: string, report: Report) => kind.parse(given, report).map((value) => new Sensitive(value));
  return { ...kind, secret: true, parse };
}

export function integer(fallback: number, min: number, max: number): Kind<number> {
  const parse = (given: string, report: Report) => {
    const value = Number(given);
    if (!Number.isInteger(value) || value < min || value > max) {
      report(`must be an integer from ${min} to ${max}`, given);
    }
    return value;
  };
  return { fallback: String(fallback), secret: false, parse };
}

export function port(fallback: number): Kind<number> {
  return integer(fallback, 1, 65_535);
}

export function flag(fallback: boolean): Kind<boolean> {
  const parse = (given: string, report: Report) => {
    const value = given.toLowerCase();
    if (['1', 'true', 'on', 'yes'].includes(value)) return true;
    if (!['0', 'false', 'off', 'no'].includes(value)) report('must be true or false', given);
    return false;
  };
  return { fallback: String(fallback), secret: false, parse };
}

export function choice<const T extends string>(values: readonly T[], fallback: NoInfer<T>): Kind<T> {
  const parse = (given: string, report: Report) => {
    const found = values.find((value) => value === given);
    if (found === undefined) report(`must be one of ${values.join(', ')}`, given);
    return found ?? fallback;
  };
  return { fallback, secret: false, parse };
}

/** Accepts a comma-separated list and skips empty items. The rule applies to each item. */
export function list(fallback: string, rule?: Rule): Kind<string[]> {
  const parse = (given: string, report: Report) => {
    const items = given.split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]));
    if (rule && !items.every(rule.valid)) report(rule.problem, given);
    return items;
  };
  return { fallback, secret: false, parse };
}

export function lowerCase<T>(kind: Kind<T>): Kind<T> {
  return { ...kind, parse: (given, report) => kind.parse(given.toLowerCase(), report) };
}

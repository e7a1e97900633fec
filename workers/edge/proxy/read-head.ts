import { InvalidAnswerError } from './answer-head.js';
import { connectionTokens, valuesOf } from './headers.js';

/** The head of an answer. */
export interface AnswerHead {
  status: number;
  /** A flat list of names and values, as they came. */
  headers: string[];
  /** How the body ends: after so many bytes, with its last chunk, or with the connection. */
  body: number | 'none' | 'chunked' | 'until-end';
  /** For how long the replica keeps the idle connection, in seconds, as far as it says; 0 if it closes it after this answer. */
  keepAliveSeconds: number;
}

/** What an answer depends on. */
export interface Asked {
  method: string;
  /** Whether the request asked for another protocol, so that a 101 may answer it. */
  upgrade: boolean;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: |$)/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const FORBIDDEN = /[\x00-\x08\x0a-\x1f\x7f]/;
const LENGTH = /^[0-9]{1,15}$/;
const KEEP_ALIVE = /(?:^|[\s,])timeout=(\d{1,6})(?:$|[\s,])/i;
/** Without a hint. The edge has a shorter time of its own. */
const UNSAID_SECONDS = Number.POSITIVE_INFINITY;

/** Reads the lines of a head, without its last CRLFs. Throws `InvalidAnswerError`. */
export function readHead(text: string, asked: Asked): AnswerHead {
  const lines = text.split('\r\n');
  const [, minor, digits] = STATUS_LINE.exec(lines[0] ?? '') ?? [];
  if (digits === undefined || FORBIDDEN.test(lines[0] ?? '')) throw new InvalidAnswerError('its first line');
  const status = Number(digits);
  const headers: string[] = [];
  let connection = '';
  let keepAlive = '';
  let length: string | null = null;
  let encoding: string | null = null;
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0));
    const value = trimmed(line, colon + 1);
    if (!NAME.test(name) || FORBIDDEN.test(value))
      throw new InvalidAnswerError(`header ${JSON.stringify(line.slice(0, 100))}`);
    headers.push(name, value);
    switch (name.length) {
      case 10:
        if (name.toLowerCase() === 'connection') connection = connection === '' ? value : `${connection},${value}`;
        else if (name.toLowerCase() === 'keep-alive') keepAlive = keepAlive === '' ? value : `${keepAlive},${value}`;
        break;
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (length !== null || !LENGTH.test(value)) throw new InvalidAnswerError('its Content-Length');
        length = value;
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        if (encoding !== null || value.toLowerCase() !== 'chunked')
          throw new InvalidAnswerError('its Transfer-Encoding');
        encoding = value;
    }
  }
  if (encoding !== null && (length !== null || minor === '0')) throw new InvalidAnswerError('its Transfer-Encoding');
  if (status === 101 && !(asked.upgrade && upgrades(connection, headers))) throw new InvalidAnswerError('status 101');
  const body = bodyOf(status, asked.method, encoding, length);
  return {
    status,
    headers,
    body,
    keepAliveSeconds: body === 'until-end' ? 0 : keepsAlive(minor === '1', connection, keepAlive),
  };
}

/** Whether an answer says to which protocol it changes (RFC 9110, 7.8). */
function upgrades(connection: string, headers: readonly string[]): boolean {
  return connectionTokens(connection).has('upgrade') && valuesOf(headers, 'upgrade') !== '';
}

function bodyOf(status: number, method: string, encoding: string | null, length: string | null): AnswerHead['body'] {
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return 'none';
  if (encoding !== null) return 'chunked';
  return length === null ? 'until-end' : Number(length);
}

function keepsAlive(is11: boolean, connection: string, keepAlive: string): number {
  const tokens = connection === '' ? null : connectionTokens(connection);
  if (tokens?.has('close') || (!is11 && !tokens?.has('keep-alive'))) return 0;
  const said = keepAlive === '' ? null : KEEP_ALIVE.exec(keepAlive);
  return said === null ? UNSAID_SECONDS : Number(said[1]);
}

/** The text from here to the end of the line, without spaces and tabs around it. */
function trimmed(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && isSpace(line.charCodeAt(start))) start += 1;
  while (end > start && isSpace(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9;
}

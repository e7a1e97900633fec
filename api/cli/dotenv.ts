import { CliError, EXIT } from './exit.js';

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;
const ESCAPED: Record<string, string> = { n: '\n', r: '\r', t: '\t' };

/**
 * The variables of a .env file: `KEY=value`, `export KEY=value`, values in single or double quotes, which may have several lines, and
 * comments. A later line of a key wins. Nothing is expanded. Throws with the number of a line that is none of these.
 */
export function parseDotenv(text: string): Map<string, string> {
  const found = new Map<string, string>();
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|[\n\r]/);
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    if (/^\s*(#|$)/.test(line)) continue;
    const [, key, rest = ''] = LINE.exec(line) ?? [];
    if (key === undefined) throw refused(i, 'is not KEY=value');
    const quote = /^["'`]/.exec(rest)?.[0];
    if (quote === undefined) {
      found.set(key, rest.replace(/(^|\s)#.*$/, '').trim());
      continue;
    }
    const begun = i;
    let value = rest.slice(1);
    let end = closing(value, quote);
    while (end < 0) {
      i += 1;
      if (i >= lines.length) throw refused(begun, `has a ${quote} that is not closed`);
      value += `\n${lines[i]}`;
      end = closing(value, quote);
    }
    if (!/^\s*(#.*)?$/.test(value.slice(end + 1))) throw refused(begun, `has text after the closing ${quote}`);
    const inner = value.slice(0, end);
    found.set(key, quote === '"' ? inner.replace(/\\(.)/gs, (_, c: string) => ESCAPED[c] ?? c) : inner);
  }
  return found;
}

/** The place of the closing quote; -1 if there is none. A backslash escapes it within double quotes. */
function closing(text: string, quote: string): number {
  for (let i = 0; i < text.length; i++) {
    if (quote === '"' && text[i] === '\\') i += 1;
    else if (text[i] === quote) return i;
  }
  return -1;
}

/** The line itself is not shown: it may be a secret. */
function refused(index: number, problem: string): CliError {
  return new CliError(EXIT.usage, `line ${index + 1} ${problem}`);
}

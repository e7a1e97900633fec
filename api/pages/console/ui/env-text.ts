export interface EnvEntry {
  key: string;
  value: string;
}

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/**
 * Parses a .env file, for the console and for rnv. Escapes are replaced in double quotes only, and variables are not
 * expanded. A problem does not show its line, because the line may contain a secret.
 */
export function parseEnv(text: string): { entries: EnvEntry[]; problems: string[] } {
  const found = new Map<string, string>();
  const problems: string[] = [];
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|[\n\r]/);
  for (let index = 0; index < lines.length; index++) {
    const number = index + 1;
    const line = lines[index] ?? '';
    if (/^\s*(#|$)/.test(line)) continue;
    const [, key, rest = ''] = LINE.exec(line) ?? [];
    if (key === undefined) {
      problems.push(`Line ${number} is not KEY=value`);
      continue;
    }
    const quote = /^["'`]/.exec(rest)?.[0];
    if (quote === undefined) {
      found.set(key, rest.replace(/(^|\s)#.*$/, '').trim());
      continue;
    }
    let value = rest.slice(1);
    while (endOf(value, quote) < 0 && index + 1 < lines.length) value += `\n${lines[++index]}`;
    const end = endOf(value, quote);
    if (end < 0) problems.push(`Line ${number}: the quote of ${key} is not closed`);
    else if (!/^\s*(#.*)?$/.test(value.slice(end + 1)))
      problems.push(`Line ${number}: text follows the closing quote of ${key}`);
    else found.set(key, quote === '"' ? withoutEscapes(value.slice(0, end)) : value.slice(0, end));
  }
  return { entries: [...found].map(([key, value]) => ({ key, value })), problems };
}

function endOf(text: string, quote: string): number {
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\' && quote === '"') index++;
    else if (text[index] === quote) return index;
  }
  return -1;
}

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/gs, (_, char: string) => ESCAPED[char] ?? char);
}

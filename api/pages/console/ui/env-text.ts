export interface EnvEntry {
  key: string;
  value: string;
}

const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Reads a .env text: comments, `export`, values bare, in single quotes (as they are) or in double quotes (with \n, \t, \" and \\, over
 * several lines). Of equal keys the last one counts. Problems name their line.
 */
export function parseEnv(text: string): { entries: EnvEntry[]; problems: string[] } {
  const found = new Map<string, string>();
  const problems: string[] = [];
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  for (let index = 0; index < lines.length; index++) {
    const number = index + 1;
    const line = (lines[index] ?? '').trim();
    if (line === '' || line.startsWith('#')) continue;
    const at = line.indexOf('=');
    const key = line
      .slice(0, Math.max(0, at))
      .replace(/^export\s+/, '')
      .trim();
    if (at < 0 || !KEY.test(key)) {
      problems.push(`Line ${number} is not KEY=value`);
      continue;
    }
    let rest = line.slice(at + 1).trim();
    const quote = rest[0];
    if (quote !== '"' && quote !== "'") {
      found.set(key, rest.replace(/(^|\s)#.*$/, '').trim());
      continue;
    }
    while (endOf(rest, quote) < 0 && index + 1 < lines.length) rest += `\n${lines[++index]}`;
    const end = endOf(rest, quote);
    if (end < 0) {
      problems.push(`Line ${number}: the quote of ${key} is not closed`);
      continue;
    }
    const content = rest.slice(1, end);
    found.set(key, quote === "'" ? content : withoutEscapes(content));
  }
  return { entries: [...found].map(([key, value]) => ({ key, value })), problems };
}

/** The index at which the quoted value ends; -1 if it has no end. */
function endOf(text: string, quote: string): number {
  for (let index = 1; index < text.length; index++) {
    if (text[index] === '\\' && quote === '"') index++;
    else if (text[index] === quote) return index;
  }
  return -1;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/gs, (_, char: string) => ESCAPES[char] ?? char);
}

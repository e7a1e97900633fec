import type { Lost } from './loose.js';

export interface Reading {
  /** Values to substitute for `$NAME` in the file. */
  env: Readonly<Record<string, string>>;
  lost: Lost;
}

const REFERENCE = /\$(?:\$|\{([A-Za-z_]\w*)(?:(:?[-+?])([^}]{0,500}))?\}|([A-Za-z_]\w*))/g;

/** Substitutes `$NAME` and `${NAME:-default}` like Compose. Names without a value are in `missing` and become ''. */
export function interpolate(text: string, env: Readonly<Record<string, string>>): { value: string; missing: string[] } {
  const missing: string[] = [];
  const value = text.replace(
    REFERENCE,
    (whole, braced: string | undefined, operator = '', word = '', plain: string | undefined) => {
      if (whole === '$$') return '$';
      const name = braced ?? plain ?? '';
      const known = Object.hasOwn(env, name) ? (env[name] ?? '') : undefined;
      const isSet = known !== undefined && !(operator.startsWith(':') && known === '');
      if (operator.endsWith('+')) return isSet ? word : '';
      if (isSet) return known;
      if (operator.endsWith('-')) return interpolate(word, env).value;
      missing.push(name);
      return '';
    },
  );
  return { value, missing };
}

/** Splits a command into words. Like Compose, handles quotes and backslashes without a shell. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  let [word, quote, isWord] = ['', '', false];
  for (let i = 0; i < text.length; i++) {
    const letter = text.charAt(i);
    if (letter === '\\' && quote !== "'" && i + 1 < text.length) {
      // In double quotes, a backslash is literal before most characters.
      const next = text.charAt(++i);
      word += quote === '"' && !/["\\$`]/.test(next) ? letter + next : next;
      isWord = true;
    } else if (quote !== '') {
      if (letter === quote) quote = '';
      else word += letter;
    } else if (letter === '"' || letter === "'") {
      [quote, isWord] = [letter, true];
    } else if (!/\s/.test(letter)) {
      [word, isWord] = [word + letter, true];
    } else if (isWord) {
      words.push(word);
      [word, isWord] = ['', false];
    }
  }
  return isWord ? [...words, word] : words;
}

/** Parses KEY=value lines, as in an env_file. */
export function readEnvLines(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const split = line.indexOf('=');
    const key = line
      .slice(0, Math.max(split, 0))
      .trim()
      .replace(/^export /, '')
      .trim();
    if (!/^[A-Za-z_]\w*$/.test(key)) continue;
    const value = line.slice(split + 1).trim();
    const quote = value.charAt(0);
    const isQuoted = value.length > 1 && (quote === '"' || quote === "'") && value.endsWith(quote);
    const comment = value.indexOf(' #');
    const plain = isQuoted ? value.slice(1, -1) : comment < 0 ? value : value.slice(0, comment).trimEnd();
    const whole = interpolate(plain, found);
    found[key] = (isQuoted && quote === "'") || whole.missing.length > 0 ? plain : whole.value;
  }
  return found;
}

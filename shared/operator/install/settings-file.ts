import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readIfThere } from '../../core/exists.js';
import { writePrivately } from '../../launcher/private-file.js';

const LINE = /^([A-Z_][A-Z0-9_]*)=(?:'([^']*)'|(.*))$/;

/** Parses `NAME='value'` lines, a format that both systemd and shells read. */
export function parseSettings(text: string): Record<string, string> {
  const found = text.split('\n').map((line) => LINE.exec(line.trim()));
  return Object.fromEntries(
    found.flatMap((line) => (line === null ? [] : [[line[1] ?? '', line[2] ?? line[3] ?? '']])),
  );
}

/** Formats settings for `parseSettings`. Throws if a value contains a quote or a line break. */
export function settingsText(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => {
      if (/['\n]/.test(value)) throw new Error(`${name} must not contain ' or a line break`);
      return `${name}='${value}'\n`;
    })
    .join('');
}

/**
 * Adds missing settings to the file, such as a SECRETS_KEY, and returns all settings. Only the current user can read
 * the file.
 */
export async function keepSettings(
  path: string,
  added: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const text = (await readIfThere(path)) ?? '';
  const kept = parseSettings(text);
  const fresh = { SECRETS_KEY: randomBytes(32).toString('base64'), ...added };
  const missing = Object.fromEntries(Object.entries(fresh).filter(([name]) => !(name in kept)));
  await mkdir(dirname(path), { recursive: true });
  await writePrivately(path, text + (text === '' || text.endsWith('\n') ? '' : '\n') + settingsText(missing));
  return { ...kept, ...missing };
}

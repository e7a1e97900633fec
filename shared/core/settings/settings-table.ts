import { pathToFileURL } from 'node:url';
import { SETTINGS } from './all-settings.js';
import { PROCESSES, type Setting } from './setting.js';

/** Returns the Markdown table of docs/reference/settings.md. Run this file to print the table. */
export function settingsTable(): string {
  const rows = Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]) =>
    [
      `\`${name}\``,
      shownDefault(setting),
      shownProcesses(setting),
      setting.kind.secret ? 'yes' : '',
      setting.meaning,
    ].join(' | '),
  );
  const head = ['variable | default | used by | secret | meaning', '---|---|---|---|---'];
  return [...head, ...rows].map((row) => `| ${row} |\n`).join('');
}

function shownDefault({ shownDefault, kind }: Setting<unknown>): string {
  if (shownDefault !== undefined) return shownDefault;
  return kind.fallback === '' ? 'none' : `\`${kind.fallback}\``;
}

function shownProcesses({ processes }: Setting<unknown>): string {
  return processes.length === PROCESSES.length ? 'all' : processes.join(', ');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.stdout.write(settingsTable());

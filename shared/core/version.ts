import { readFileSync } from 'node:fs';

const manifest: { version: string } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
);

/** The platform's version from package.json, shown in heartbeats and metrics. */
export const VERSION = manifest.version;

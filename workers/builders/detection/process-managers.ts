import { type Application, dependsOn } from './application.js';

/** Matches a start that puts the application into the background and exits: the replica would end. */
const PM2 = /(^|[\s;&|])(?:npx )?pm2 (?:start|startOrRestart|startOrReload)\s+([^&|;\n]{1,1000})/;

/** The start script that generators of Egg.js write. */
const EGG = /^(?:[\w=]+\s)*egg-scripts start\b[^&|;\n]*\s--daemon\b/;

/**
 * Returns the command with which PM2 or Egg.js stays in the foreground.
 * Returns null for a command that starts neither. PM2 has `pm2-runtime` for this. If the project does not depend on
 * PM2, Node.js runs the file itself.
 */
export function withoutDaemon(command: string, app: Pick<Application, 'manifest'>): string | null {
  if (EGG.test(command.slice(0, 4096))) return command.replace(/\s--daemon\b/g, '');
  const found = PM2.exec(command.slice(0, 4096));
  if (found === null) return null;
  const [all, before = '', rest = ''] = found;
  const words = rest.split(/\s+/).filter((word) => word !== '' && word !== '--watch');
  const [file = ''] = words;
  const instead = dependsOn(app, 'pm2')
    ? `pm2-runtime start ${words.join(' ')}`
    : /^[\w./@+-]+\.[cm]?js$/.test(file) && !/\.config\.[cm]?js$/.test(file)
      ? `node ${file}`
      : null;
  return instead === null
    ? null
    : `${command.slice(0, found.index)}${before}${instead}${command.slice(found.index + all.length)}`.trim();
}

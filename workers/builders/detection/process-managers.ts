import { type Application, dependsOn } from './application.js';

/** Matches a PM2 command that starts the application in the background and exits, which would stop the replica. */
const PM2 = /(^|[\s;&|])(?:npx )?pm2 (?:start|startOrRestart|startOrReload)\s+([^&|;\n]{1,1000})/;

/** Matches the start script that Egg.js generators write, which starts the application in the background. */
const EGG = /^(?:[\w=]+\s)*egg-scripts start\b[^&|;\n]*\s--daemon\b/;

/** Returns a command that runs in the foreground what PM2 or Egg.js starts; null if there is none. */
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

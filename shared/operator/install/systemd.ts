import { exists } from '../../core/exists.js';
import { runLimited } from '../../core/run-limited.js';

/** What the installer needs of the host's service manager. A call rejects if the service manager fails. */
export interface ServiceManager {
  reload(): Promise<unknown>;
  enable(unit: string): Promise<unknown>;
  disable(unit: string): Promise<unknown>;
  start(unit: string): Promise<unknown>;
  stop(unit: string): Promise<unknown>;
  /** Sends a signal to the unit's main process only. */
  signal(unit: string, signal: 'INT'): Promise<unknown>;
}

const TIMEOUT_MS = 120_000;

/** Returns the host's systemd; null if it does not run, as in most containers. */
export async function systemd(): Promise<ServiceManager | null> {
  if (!(await exists('/run/systemd/system'))) return null;
  const systemctl = (...args: string[]) => runLimited('systemctl', args, { timeout: TIMEOUT_MS });
  return {
    reload: () => systemctl('daemon-reload'),
    enable: (unit) => systemctl('enable', unit),
    disable: (unit) => systemctl('disable', unit),
    start: (unit) => systemctl('start', unit),
    stop: (unit) => systemctl('stop', unit),
    signal: (unit, signal) => systemctl('kill', '--kill-whom=main', `--signal=${signal}`, unit),
  };
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { copiedImage } from '../../../workers/sandbox/scratch-folder.js';
import { eventually } from '../../support/processes.js';
import { type SandboxFixture, USER } from './support.js';

const SECRET = 'SECRET_OF_NEIGHBOUR';
/** Tries to reach another sandbox and the platform, and prints the name of each thing that it reaches. */
const ATTACK = `
  cat "$DATA/secret" && echo data
  ls "$DATA/sandboxes" && echo names
  cat "$DATA/sandboxes/$OTHER/home/mine" && echo home
  cat "$FILES/page" && echo files
  grep -q ${SECRET} "/proc/$PID/environ" && echo environment
  kill -9 "$PID" && echo signal
  true`;
const THINGS = ['data', 'names', 'home', 'files', 'environment', 'signal'];

/** Returns what a hostile command reaches of DATA_DIR and of another service's command. */
export async function reachedBy(fixture: SandboxFixture): Promise<string[]> {
  await writeFile(join(fixture.dataDir, 'secret'), 'secret\n', { mode: 0o600 });
  const command = 'echo mine >"$HOME/mine"; echo ready; exec sleep 300';
  const image = join(fixture.dataDir, 'images', 'one');
  await mkdir(image, { recursive: true });
  await writeFile(join(image, 'page'), 'page\n');
  const other = await fixture.spec(command, { image, userNumber: USER + 1, env: { VALUE: SECRET } });
  const files = { logFile: join(fixture.dataDir, 'other-log'), exitFile: join(fixture.dataDir, 'other-exit') };
  const started = await fixture.sandbox.start(other, files);
  try {
    const pid = await eventually('the neighbour sleeps', async () => {
      for (const one of await fixture.left(other.id)) {
        // Helper processes of the sandbox do not have the variables of the command.
        const of = (file: string) => readFile(`/proc/${one}/${file}`, 'utf8').catch(() => '');
        if ((await of('comm')) === 'sleep\n' && (await of('environ')).includes(SECRET)) return one;
      }
      return null;
    });
    const env = { DATA: fixture.dataDir, OTHER: other.id, FILES: copiedImage(other.directory), PID: String(pid) };
    const { stdout } = await fixture.run(ATTACK, { env });
    return THINGS.filter((thing) => stdout.includes(thing));
  } finally {
    await fixture.sandbox.stop(other.id, started, 0);
  }
}

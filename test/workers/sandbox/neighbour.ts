import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { copiedImage } from '../../../workers/sandbox/scratch-folder.js';
import { eventually } from '../../support/processes.js';
import { type Playground, USER } from './support.js';

const SECRET = 'SECRET_OF_NEIGHBOUR';
/** What a command may reach of its neighbour and of the platform. It prints the name of each thing that it reached. */
const ATTACK = `
  cat "$DATA/secret" && echo data
  ls "$DATA/sandboxes" && echo names
  cat "$DATA/sandboxes/$OTHER/home/mine" && echo home
  cat "$FILES/page" && echo files
  grep -q ${SECRET} "/proc/$PID/environ" && echo environment
  kill -9 "$PID" && echo signal
  true`;
const THINGS = ['data', 'names', 'home', 'files', 'environment', 'signal'];

/** Starts the command of another service, and returns what a hostile command reaches of it and of DATA_DIR. */
export async function reachedBy(ground: Playground): Promise<string[]> {
  await writeFile(join(ground.dataDir, 'secret'), 'secret\n', { mode: 0o600 });
  const command = 'echo mine >"$HOME/mine"; echo ready; exec sleep 300';
  const image = join(ground.dataDir, 'images', 'one');
  await mkdir(image, { recursive: true });
  await writeFile(join(image, 'page'), 'page\n');
  const other = await ground.spec(command, { image, userNumber: USER + 1, env: { VALUE: SECRET } });
  const files = { logFile: join(ground.dataDir, 'other-log'), exitFile: join(ground.dataDir, 'other-exit') };
  const started = await ground.sandbox.start(other, files);
  try {
    const pid = await eventually('the neighbour sleeps', async () => {
      for (const one of await ground.left(other.id)) {
        // The sandbox's own helpers do not have the variables of its command.
        const of = (file: string) => readFile(`/proc/${one}/${file}`, 'utf8').catch(() => '');
        if ((await of('comm')) === 'sleep\n' && (await of('environ')).includes(SECRET)) return one;
      }
      return null;
    });
    const env = { DATA: ground.dataDir, OTHER: other.id, FILES: copiedImage(other.directory), PID: String(pid) };
    const { stdout } = await ground.run(ATTACK, { env });
    return THINGS.filter((thing) => stdout.includes(thing));
  } finally {
    await ground.sandbox.stop(other.id, started, 0);
  }
}

import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '../../shared/core/exists.js';
import { MAX_UPDATES } from '../../shared/pushes/model.js';

/** `proc-receive` only relays data on pipes 3, 4 and 5 to the API process. If that process dies, the hook exits. */

/** Sends the path of git's file `shallow` first, or '' if the push is not shallow. */
const PROC_RECEIVE = `#!/bin/sh
# The shell gives a background command no input, except one that is named.
exec 6<&0
shallow=\${GIT_SHALLOW_FILE:-}
printf '%04x%s\\n' $((\${#shallow} + 5)) "$shallow" >&3
cat <&6 >&3 &
input=$!
cat <&5 >&2 &
messages=$!
cat <&4
wait $messages
kill $input 2>/dev/null
exit 0
`;

/** Refuses tags, other refs and too many refs before `proc-receive` runs, so that git stores nothing from the push. */
const PRE_RECEIVE = `#!/bin/sh
count=0
while read -r from to ref; do
  count=$((count + 1))
  if [ $count -gt ${MAX_UPDATES} ]; then
    echo 'A push may change ${MAX_UPDATES} branches at most, and this one changes more than ${MAX_UPDATES}. Nothing was stored.' >&2
    exit 1
  fi
  case "$ref" in
    refs/heads/*) ;;
    *)
      printf '%s is refused: only branches can be pushed here, no tags and nothing else. Nothing was stored.\\n' "$ref" >&2
      exit 1
      ;;
  esac
done
`;

const HOOKS: Readonly<Record<string, string>> = { 'proc-receive': PROC_RECEIVE, 'pre-receive': PRE_RECEIVE };

/** Writes the hooks into a subfolder of `folder` unless they exist. Returns the subfolder. */
export async function writeHooks(folder: string): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(HOOKS)).digest('hex').slice(0, 16);
  const path = join(folder, `hooks-${hash}`);
  if (await exists(path)) return path;
  const own = `${path}.${randomUUID()}`;
  await mkdir(own, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(HOOKS)) await writeFile(join(own, name), text, { mode: 0o700 });
  await rename(own, path).catch(async (error: unknown) => {
    await rm(own, { recursive: true, force: true });
    // If the folder exists now, another process wrote the hooks first.
    if (!(await exists(path))) throw error;
  });
  return path;
}

import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuiltImage } from '../../../shared/images/model.js';
import { imageProblem, parseImage } from '../../../shared/images/reference.js';
import { BuildError } from '../../failures/explained.js';
import { isBelow } from '../../sandbox/sandbox-plan.js';
import { firstImageUser, ownByImages } from '../../sandbox/service-users.js';
import { openImageCache } from '../build-folder.js';
import { withoutPaths } from '../container/dockerfile-context.js';
import { namedImages } from '../container/dockerfile-guard.js';
import { below } from '../project-files.js';
import { readFiles } from '../reader/read-files.js';
import { accountOf, type ImageTask, keepBundle, pull, runImageTools } from './image-builder.js';

/**
 * Builds with buildah. The images that the Dockerfile names were copied here before. Arguments: the folder of inputs, the storage that stays
 * for the next build, the folder of the context, further arguments of `buildah build`.
 */
const BUILD = `#!/bin/sh
set -e
inputs=$1 storage=$2 context=$3
shift 3
export TMPDIR="$storage/tmp" XDG_RUNTIME_DIR=/run CONTAINERS_REGISTRIES_CONF="$inputs/registries.conf" BUILDAH_ISOLATION=chroot
export _CONTAINERS_USERNS_CONFIGURED=
mkdir -p "$TMPDIR"
run() { buildah --root "$storage/images" --runroot /run/buildah --storage-driver overlay "$@"; }
while read -r folder name; do
  id=$(run pull --quiet --signature-policy "$inputs/policy.json" "oci:$inputs/$folder")
  run tag "$id" "$name"
done <"$inputs/bases"
run build --signature-policy "$inputs/policy.json" --isolation chroot --layers --format oci --tag localhost/built \\
  --file "$inputs/Dockerfile" --ignorefile "$inputs/ignore" "$@" "$context"
run push --quiet --signature-policy "$inputs/policy.json" localhost/built oci:/mnt/app/built:image
run rmi localhost/built >/dev/null
umoci unpack --image /mnt/app/built:image /mnt/app/bundle
`;
const REGISTRIES = 'unqualified-search-registries = ["docker.io"]\nshort-name-mode = "permissive"\n';
const POLICY = '{ "default": [{ "type": "insecureAcceptAnything" }] }\n';

/** Builds the repository's Dockerfile. `project` is the real path of its folder below `app`. Throws `BuildError`. */
export async function buildDockerfile(task: ImageTask, project: string): Promise<BuiltImage> {
  const { options, request, context, limit, folder } = task;
  const { dockerContext, dockerfilePath } = request.configuration;
  const variables = { ...withoutPaths(options.config.buildEnvironment), CI: 'true', ...request.environment };
  const { content, buildArgs, notes, dockerfile } = await readFiles(
    'readDockerfile',
    { app: folder.app, project, dockerContext, dockerfilePath, variables, ownPrefix: null },
    { signal: limit.signal },
  );
  await context.log(`Builds the Dockerfile ${dockerfilePath}`);
  for (const note of notes) await context.log(note, 'warn');
  const [place] = content.folders;
  if (place === undefined || !isBelow(place.path, folder.app)) throw new Error('the context is not in the repository');
  const text = content.files[dockerfile] ?? '';
  const inputs = join(folder.path, 'inputs');
  const storage = await openImageCache({ dataDir: options.config.dataDir, log: options.log }, request, context);
  await writeInputs(inputs, { text, ignore: place.ignore ?? [], secrets: request.environment });
  await copyBases(task, inputs, text, buildArgs);
  await limit.within('the build', async () => {
    await ownByImages(folder.app, limit.signal);
    const inside = `/mnt/app/${below(folder.app, place.path)}`.replace(/\/+$/, '');
    const flags = [
      ...Object.keys(buildArgs).flatMap((name) => ['--build-arg', name]),
      ...Object.keys(request.environment).flatMap((name) => [
        '--secret',
        `id=${name},src=/mnt/tools/inputs/secrets/${name}`,
      ]),
      ...(request.clearCache ? ['--no-cache'] : []),
    ];
    const words = ['/mnt/tools/inputs', storage, inside, ...flags].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    await runImageTools(task, `/bin/sh /mnt/tools/inputs/build ${words.join(' ')}`, 'the Dockerfile', {
      writable: [storage],
      tools: [inputs],
      env: buildArgs,
    });
  });
  return limit.within('storing the image', () => keepBundle(task, join(folder.app, 'built'), 'docker'));
}

async function writeInputs(
  inputs: string,
  { text, ignore, secrets }: { text: string; ignore: string[]; secrets: Record<string, string> },
): Promise<void> {
  await mkdir(join(inputs, 'secrets'), { recursive: true, mode: 0o755 });
  const files = {
    build: BUILD,
    Dockerfile: text,
    ignore: ignore.join('\n'),
    'registries.conf': REGISTRIES,
    'policy.json': POLICY,
  };
  for (const [name, content] of Object.entries(files))
    await writeFile(join(inputs, name), `${content}\n`, { mode: 0o644 });
  for (const [name, value] of Object.entries(secrets)) {
    const path = join(inputs, 'secrets', name);
    await writeFile(path, value, { mode: 0o400 });
    await chown(path, firstImageUser(), firstImageUser());
  }
}

/** Copies the images that the Dockerfile names, with the account of the service, and notes under which names the build knows them. */
async function copyBases(
  task: ImageTask,
  inputs: string,
  text: string,
  buildArgs: Record<string, string>,
): Promise<void> {
  const account = await accountOf(task);
  const lines: string[] = [];
  for (const [index, image] of namedImages(text, buildArgs).entries()) {
    const reference = parseImage(image);
    if (reference === null)
      throw new BuildError(`the Dockerfile names the image "${image}", which is not a name of one`);
    const own = account?.serveraddress === reference.registry ? account : undefined;
    const policy = { allowLocal: task.options.allowLocal, ownPrefix: null };
    const problem = imageProblem(image, policy, own !== undefined);
    if (problem !== null) throw new BuildError(`the Dockerfile names the image ${image}: ${problem}`);
    const name =
      reference.digest === null ? `${reference.name}:${reference.tag}` : `${reference.name}@${reference.digest}`;
    await task.context.log(`Pulls ${name}`);
    await task.limit.within('pulling the images of the Dockerfile', () =>
      pull(task, name, join(inputs, `base-${index}`), own),
    );
    lines.push(`base-${index}:image ${reference.name}:${reference.tag}`);
  }
  await writeFile(join(inputs, 'bases'), lines.map((line) => `${line}\n`).join(''), { mode: 0o644 });
}

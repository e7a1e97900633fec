import { createHash } from 'node:crypto';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { imageProblem, parseImage } from '../../../shared/images/image-reference.js';
import type { BuiltImage } from '../../../shared/images/model.js';
import { quote } from '../../core/quote.js';
import { BuildError, ImageUnavailableError } from '../../failures/explained-errors.js';
import { APP_PATH, isBelow, TOOLS_PATH } from '../../sandbox/sandbox-plan.js';
import { firstImageUser, ownByImages } from '../../sandbox/service-users.js';
import { openImageCache } from '../build-folder.js';
import { namedImages } from '../dockerfile/dockerfile-guard.js';
import { HERE_CONTEXT, type PlainDockerfile, withoutHereDocuments } from '../dockerfile/here-documents.js';
import { openDockerfile } from '../dockerfile/open-dockerfile.js';
import { accountsOf } from '../dockerfile/requested-image.js';
import { textInside, wholeInside } from '../files/project-files.js';
import { explainBuildah } from './explain-buildah.js';
import { type ImageTask, pull, runImageTools, storeImage, UNPACK_LAYOUT } from './image-builder.js';
import { type ImageConfig, writeDockerFormat } from './oci-layout.js';

/**
 * The beginning of the shell scripts. `$1` is the folder of the input files. `$2` is the folder of buildah's storage,
 * which is kept for the service's next build.
 */
const PREPARE = `
set -e
inputs=$1 storage=$2
shift 2
export TMPDIR="$storage/tmp" XDG_RUNTIME_DIR=/run CONTAINERS_REGISTRIES_CONF="$inputs/registries.conf" BUILDAH_ISOLATION=chroot
export _CONTAINERS_USERNS_CONFIGURED=
mkdir -p "$TMPDIR"
run() { buildah --root "$storage/images" --runroot /run/buildah --storage-driver overlay "$@"; }
`;

/**
 * Loads the images that the file `bases` lists, and builds an image with buildah. Writes the image's id and
 * configuration to the storage. Further arguments are passed to `buildah build`.
 */
const BUILD = `${PREPARE}
while read -r format folder name; do
  id=$(run pull --quiet --signature-policy "$inputs/policy.json" "$format:$inputs/$folder")
  run tag "$id" "$name"
done <"$inputs/bases"
run build --signature-policy "$inputs/policy.json" --isolation chroot --layers --format docker --tag localhost/built \\
  --file "$inputs/Dockerfile" --ignorefile "$inputs/ignore" --iidfile /tmp/image-id "$@"
cp /tmp/image-id "$storage/image-id"
run inspect --type image localhost/built >"$storage/image"
`;

const UNPACK = `${PREPARE}
run push --quiet --disable-compression --signature-policy "$inputs/policy.json" localhost/built oci:layout:image
${UNPACK_LAYOUT}
`;
/** The path, inside the build's sandbox, of the folder with the build's input files. */
const INPUTS = `${TOOLS_PATH}/inputs`;
const REGISTRIES = 'unqualified-search-registries = ["docker.io"]\nshort-name-mode = "permissive"\n';
const POLICY = '{ "default": [{ "type": "insecureAcceptAnything" }] }\n';

/** Builds the repository's Dockerfile. `project` is the real path of the project's folder. Throws `BuildError`. */
export async function buildDockerfile(task: ImageTask, project: string): Promise<BuiltImage> {
  const { options, request, context, limit, folder } = task;
  const places = { app: folder.app, project, ownPrefix: null };
  const { content, buildArgs, dockerfile } = await openDockerfile(places, options.config, request, {
    ...context,
    signal: limit.signal,
  });
  const [place] = content.folders;
  if (place === undefined || !isBelow(place.path, folder.app)) throw new Error('the context is not in the repository');
  const text = content.files[dockerfile] ?? '';
  const inputs = join(folder.path, 'inputs');
  const storage = await openImageCache({ dataDir: options.config.dataDir, log: options.log }, request, context);
  const plain = withoutHereDocuments(text);
  await writeInputs(inputs, { plain, ignore: place.ignore ?? [], secrets: request.environment });
  await copyBases(task, inputs, text, buildArgs);
  const commands = { writable: [storage], tools: [inputs] };
  await limit.within('the build', async () => {
    await ownByImages(folder.app, limit.signal);
    const inside = `${APP_PATH}/${relative(folder.app, place.path)}`.replace(/\/+$/, '');
    const { dockerfileTarget } = request.configuration;
    const flags = [
      ...(dockerfileTarget ? ['--target', dockerfileTarget] : []),
      ...Object.keys(buildArgs).flatMap((name) => ['--build-arg', name]),
      ...Object.keys(request.environment).flatMap((name) => ['--secret', `id=${name},src=${INPUTS}/secrets/${name}`]),
      ...(Object.keys(plain.files).length === 0 ? [] : ['--build-context', `${HERE_CONTEXT}=${INPUTS}/here`]),
      ...(request.clearCache ? ['--no-cache'] : []),
    ];
    await runImageTools(task, folder.app, shellCommand('build', storage, ...flags, inside), {
      ...commands,
      what: 'the Dockerfile',
      env: buildArgs,
      explain: (cause) => explainBuildah(text, cause),
    });
  });
  return limit.within('storing the image', async () => {
    const id = await textInside(storage, 'image-id');
    // The service's id is part of the digest, so that no build of another service can refer to this image.
    const digest = createHash('sha256').update(`${request.serviceId} ${id}`).digest('hex');
    const unpack = async (directory: string) => {
      await runImageTools(task, directory, shellCommand('unpack', storage), {
        ...commands,
        what: 'unpacking the image',
      });
      const image = JSON.parse((await wholeInside(storage, 'image')) ?? '{}') as { Docker?: ImageConfig };
      return image.Docker?.config?.Healthcheck ?? null;
    };
    return storeImage(task, { digest, runtime: 'docker', unpack });
  });
}

function shellCommand(program: string, storage: string, ...words: string[]): string {
  return ['/bin/sh', `${INPUTS}/${program}`, INPUTS, storage, ...words].map(quote).join(' ');
}

async function writeInputs(
  inputs: string,
  { plain, ignore, secrets }: { plain: PlainDockerfile; ignore: string[]; secrets: Record<string, string> },
): Promise<void> {
  await mkdir(join(inputs, 'secrets'), { recursive: true, mode: 0o755 });
  const files = {
    build: BUILD,
    unpack: UNPACK,
    Dockerfile: plain.text,
    ignore: ignore.join('\n'),
    'registries.conf': REGISTRIES,
    'policy.json': POLICY,
  };
  for (const [name, content] of Object.entries(files))
    await writeFile(join(inputs, name), `${content}\n`, { mode: 0o644 });
  for (const [name, content] of Object.entries(plain.files)) {
    const path = join(inputs, 'here', name);
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFile(path, content, { mode: 0o644 });
  }
  for (const [name, value] of Object.entries(secrets)) {
    const path = join(inputs, 'secrets', name);
    await writeFile(path, value, { mode: 0o400 });
    await chown(path, firstImageUser(), firstImageUser());
  }
}

/** Pulls the images that the Dockerfile names, with the service's credentials, and lists them in the file `bases`. */
async function copyBases(
  task: ImageTask,
  inputs: string,
  text: string,
  buildArgs: Record<string, string>,
): Promise<void> {
  const accounts = await accountsOf(task.request, task.options.findAccount);
  const lines: string[] = [];
  for (const [index, { image, isLikeStage }] of namedImages(text, buildArgs).entries()) {
    const reference = parseImage(image);
    if (reference === null)
      throw new BuildError(`the Dockerfile names the image "${image}", which is not a name of one`);
    const account = accounts.get(reference.registry);
    const policy = { allowLocal: task.options.allowLocal, ownPrefix: null };
    const problem = imageProblem(image, policy, account !== undefined);
    if (problem !== null) throw new BuildError(`the Dockerfile names the image ${image}: ${problem}`);
    const name =
      reference.digest === null ? `${reference.name}:${reference.tag}` : `${reference.name}@${reference.digest}`;
    await task.context.log(`Pulls ${name}`);
    const layout = join(inputs, `base-${index}`);
    const config = await task.limit.within('pulling the images of the Dockerfile', () =>
      pull(task, name, layout, account)
        .then(() => task.options.registry.config(name, account, task.limit.signal))
        .catch((error: unknown) => {
          if (!isLikeStage || !(error instanceof ImageUnavailableError)) throw error;
          throw new ImageUnavailableError(
            `the Dockerfile has no stage "${image}" before it is used, and ${error.message}`,
          );
        }),
    );
    const source = (await writeDockerFormat(layout, `${layout}-docker`, config))
      ? `dir base-${index}-docker`
      : `oci base-${index}:image`;
    lines.push(`${source} ${reference.name}:${reference.tag}`);
  }
  await writeFile(join(inputs, 'bases'), lines.map((line) => `${line}\n`).join(''), { mode: 0o644 });
}

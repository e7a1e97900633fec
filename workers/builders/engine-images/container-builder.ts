import type { BuiltImage } from '../../../shared/images/model.js';
import { isImageSource } from '../../../shared/services/service-source.js';
import { discardTree } from '../../core/remove-folders.js';
import { openBuildFolder, removeDeadBuilds } from '../build-folder.js';
import type { BuildContext, Builder, BuildRequest } from '../builder.js';
import { ContainerBuild, type ContainerBuilderOptions } from './container-build.js';

/** Creates a builder of images in a container engine. `sites` builds static sites. */
export function createContainerBuilder(options: ContainerBuilderOptions): Builder {
  return {
    build: async (request, context) => {
      const built = isImageSource(request.configuration)
        ? await new ContainerBuild(options, request, context).adopt()
        : await buildRepository(options, request, context);
      return built ?? options.sites.build(request, context);
    },
    expectBuild: () => options.sites.expectBuild?.(),
    sweep: async () => (await options.sites.sweep()) + (await options.images.removeOldCaches()),
  };
}

/** Builds an image from a repository. Returns undefined if the repository is a static site. */
async function buildRepository(
  options: ContainerBuilderOptions,
  request: BuildRequest,
  context: BuildContext,
): Promise<BuiltImage | undefined> {
  const deps = { dataDir: options.config.dataDir, log: options.log };
  await removeDeadBuilds(deps);
  const folder = await openBuildFolder(options.config.dataDir, request.id);
  try {
    return await new ContainerBuild(options, request, context).build(folder);
  } finally {
    await discardTree(deps, folder.path);
  }
}

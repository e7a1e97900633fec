import { program, type Toolchain, type ToolchainPlan } from './toolchain.js';
import { NO_WISHES } from './version-wish.js';

const BINARY = '.ranvier/app';

/** Go modules: the package in the project's folder becomes one binary. */
export const go: Toolchain = {
  runtime: 'go',
  matches: (files) => files.has('go.mod'),
  plan(files): ToolchainPlan {
    return {
      tools: [program('go', 'install Go')],
      versions: NO_WISHES,
      install: ['go mod download'],
      // A module may be replaced by a folder of the repository, so that the manifests alone are not enough.
      manifests: /=>\s*\./.test(files.text('go.mod') ?? '') ? null : ['go.mod', 'go.sum'].filter(files.has),
      build: [`go build -o ${BINARY} .`],
      start: `./${BINARY}`,
      manager: '',
      startAdvice: 'keep the main package in the root directory',
      searchPath: [],
      environment: {},
      buildEnvironment: { GOFLAGS: '-buildvcs=false -modcacherw', GOTOOLCHAIN: 'local' },
      caches: { GOCACHE: 'go-build', GOMODCACHE: 'go-mod' },
      keptFolders: [],
    };
  },
};

import { program, type Toolchain, type ToolchainPlan } from './toolchain.js';

const BINARY = '.ranvier/app';

/** Go modules: the package in the project's folder becomes one binary. */
export const go: Toolchain = {
  runtime: 'go',
  matches: (files) => files.has('go.mod'),
  plan(): ToolchainPlan {
    return {
      tools: [program('go', 'install Go')],
      install: ['go mod download'],
      build: [`go build -o ${BINARY} .`],
      start: `./${BINARY}`,
      startAdvice: 'keep the main package in the root directory',
      searchPath: [],
      environment: {},
      buildEnvironment: { GOFLAGS: '-buildvcs=false -modcacherw', GOTOOLCHAIN: 'local' },
      caches: { GOCACHE: 'go-build', GOMODCACHE: 'go-mod' },
    };
  },
};

import type { ProjectFiles } from '../files/project-files.js';
import { languageWish } from '../toolchains/language-wish.js';
import { type NamedVersion, versionIn } from '../toolchains/version-files.js';
import { wishesFor } from '../toolchains/version-wish.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';

const BINARY = '.ranvier/app';
/** Usual names of the server below `cmd`, the likeliest first. A program with the module's name takes precedence. */
const SERVER_NAMES = ['server', 'web', 'api', 'app', 'main', 'http'];

/** Go modules. The main package becomes one binary. */
export const go: Language = {
  runtime: 'go',
  marks: ['go.mod'],
  reads: ['go.mod', 'go.work'],
  matches: (files) => files.has('go.mod') || (files.has('go.work') && files.has('main.go')),
  leads: (files) => files.has('main.go'),
  plan(files): LanguagePlan {
    const isVendored = files.has('vendor/modules.txt');
    const isAlone = !files.has('go.work') && !/^\s*require\b/m.test(files.text('go.mod') ?? '');
    return {
      ...EMPTY_PLAN,
      versions: wishesFor(languageWish(files, 'go', [versionOf(files)])),
      install: isVendored || isAlone ? [] : ['go mod download'],
      // If a module is replaced by a folder of the repository, the installation also depends on that folder's files.
      manifests:
        /=>\s*\./.test(files.text('go.mod') ?? '') || files.has('go.work')
          ? null
          : ['go.mod', 'go.sum'].filter(files.has),
      build: [`go build -o ${BINARY} ${mainPackage(files)}`],
      start: `./${BINARY}`,
      startAdvice: 'keep the main package in the root directory or below cmd',
      // Without debug tables (-w), the linker takes about half the time.
      buildEnvironment: { GOFLAGS: '-buildvcs=false -modcacherw -ldflags=-w', GOTOOLCHAIN: 'local' },
      caches: { GOCACHE: 'go-build', GOMODCACHE: 'go-mod' },
    };
  },
};

/** Returns the minimum version in go.mod. The version is optional: Go before 1.21 tries to build newer modules too. */
function versionOf(files: ProjectFiles): NamedVersion | null {
  const minimum = versionIn(files, 'go.mod', /^go\s+(\d+(?:\.\d+){1,2})/m);
  return minimum && { text: `>=${minimum.text}`, source: minimum.source, optional: true };
}

function mainPackage(files: ProjectFiles): string {
  if (files.names().some((name) => name.endsWith('.go') && !name.endsWith('_test.go'))) return '.';
  const programs = files.below('cmd').filter((name) => files.below(`cmd/${name}`).some((file) => file.endsWith('.go')));
  const own = /^module[ \t]+(\S{1,300})/m
    .exec(files.text('go.mod') ?? '')?.[1]
    ?.split('/')
    .at(-1);
  const chosen = [own, ...SERVER_NAMES].find((name) => name !== undefined && programs.includes(name)) ?? programs[0];
  if (chosen !== undefined) return `./cmd/${chosen}`;
  return files.below('cmd').some((file) => file.endsWith('.go')) ? './cmd' : '.';
}

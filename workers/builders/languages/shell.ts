import type { Language, LanguagePlan } from './language.js';

const PROGRAMS = ['start.sh', 'run.sh'];

/** A shell program, if nothing else tells what the project is. */
export const shell: Language = {
  runtime: 'shell',
  marks: PROGRAMS,
  reads: [],
  matches: (files) => PROGRAMS.some(files.has),
  plan(files): LanguagePlan {
    const file = PROGRAMS.find(files.has) ?? 'start.sh';
    return {
      tools: [],
      versions: { node: null, manager: null },
      install: [],
      manifests: [],
      dependencies: null,
      build: [],
      start: `sh ./${file}`,
      manager: '',
      startAdvice: 'keep a start.sh in the root directory',
      searchPath: [],
      environment: {},
      buildEnvironment: {},
      caches: {},
      keptFolders: [],
    };
  },
};

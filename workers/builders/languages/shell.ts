import { EMPTY_PLAN, type Language } from './language.js';

const SCRIPTS = ['start.sh', 'run.sh'];
/** Matches files of a site or a Node.js program. A shell script beside them does not start the project. */
const OTHERS = /\.(html?|[cm]?[jt]s)$/;

/** Projects that a shell script starts and that are not recognised otherwise. */
export const shell: Language = {
  runtime: 'shell',
  marks: SCRIPTS,
  reads: SCRIPTS,
  matches: (files) => SCRIPTS.some(files.has) && !files.names().some((name) => OTHERS.test(name)),
  plan(files) {
    const script = SCRIPTS.find(files.has);
    const interpreter = /^#!.*\bbash\b/.test(files.text(script ?? '') ?? '') ? 'bash' : 'sh';
    return {
      ...EMPTY_PLAN,
      start: script === undefined ? null : `${interpreter} ./${script}`,
      startAdvice: 'name the script that starts it start.sh',
    };
  },
};

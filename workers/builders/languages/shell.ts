import { EMPTY_PLAN, type Language } from './language.js';

const SCRIPTS = ['start.sh', 'run.sh'];
/** Files that are recognised later: pages, and Node.js programs without a package.json. */
const OTHERS = /\.(html?|[cm]?[jt]s)$/;

/** A shell script that starts something, for a project that nothing else identifies. */
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

import { EMPTY_PLAN, type Language } from './language.js';

const SCRIPTS = ['start.sh', 'run.sh'];
/** Pages and programs of Node.js without a package.json are recognised later. */
const OTHERS = /\.(html?|[cm]?[jt]s)$/;

/** A script that starts something, if nothing else says what the project is. */
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

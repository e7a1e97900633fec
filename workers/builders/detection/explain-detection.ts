import type { BuildPlan } from '../plan/plan-model.js';

/** Returns the lines about detection for a build's log, with the settings that change the result. */
export function explain(plan: BuildPlan): string[] {
  const { type, runtime, startCommand, framework, build, publish, folders, explanation } = plan;
  const name =
    framework === null ? '' : `${framework.name}${framework.version === null ? '' : ` ${framework.version}`}, `;
  const where = folders.project === '' ? '' : ` in ${folders.project}`;
  const built = build.length === 0 ? '' : `, built with "${build.join('" and "')}"`;
  if (type === 'static') {
    const settings =
      build.length === 0 ? 'publishDirectory changes this' : 'buildCommand and publishDirectory change this';
    const from =
      publish === null || publish.folders.length === 0 || build.length === 0
        ? ''
        : `, published from ${publish.folders[0]}`;
    return [`Detected: ${name}a static site${where}${built}${from} (${settings})`, ...explanation];
  }
  const language = runtime !== 'auto' ? runtime : framework === null ? 'no framework' : 'as configured';
  const what = `${name}${language}${where}`;
  const settings = build.length === 0 ? 'startCommand changes this' : 'buildCommand and startCommand change this';
  return [`Detected: ${what}${built}, started with "${startCommand}" (${settings})`, ...explanation];
}

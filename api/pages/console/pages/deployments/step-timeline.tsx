import type { Deployment } from '../../api/types.js';
import { durationText } from '../../ui/duration-text.js';
import { Glyph, isUnfinished } from '../../ui/status.js';
import { useNow } from '../../ui/time.js';
import type { Tone } from '../../ui/tone.js';
import u from '../../ui/ui.module.css';
import { STEP_TEXT, type StepName, stepsOf, usualMs } from './deployment-text.js';
import d from './deployments.module.css';

export function StepTimeline({ deployment, others }: { deployment: Deployment; others: readonly Deployment[] }) {
  const unfinished = isUnfinished(deployment);
  const now = useNow(unfinished ? 250 : null);
  const rows = stepsOf([deployment]).map((name) => rowOf(name, deployment, others, now));
  const longest = Math.max(1000, ...rows.flatMap(({ milliseconds, usual }) => [milliseconds ?? 0, usual ?? 0]));
  return (
    <ol className={d.steps} aria-label="Steps">
      {rows.map(({ name, tone, state, milliseconds, usual }) => (
        <li key={name} className={d.step}>
          <Glyph tone={tone} />
          <span>
            {STEP_TEXT[name]} <span className={u.visuallyHidden}>{state}</span>
          </span>
          <div className={d.bar} aria-hidden="true">
            {milliseconds === null ? null : (
              <div className={`${d.fill} ${d[tone]}`} style={{ width: `${(milliseconds / longest) * 100}%` }} />
            )}
            {usual === null ? null : <div className={d.usual} style={{ left: `${(usual / longest) * 100}%` }} />}
          </div>
          <span className={d.number}>{milliseconds === null ? '–' : durationText(milliseconds)}</span>
          <span className={`${d.usualText} ${d.number} ${u.dim}`}>
            {usual === null ? '' : `usually ${durationText(usual)}`}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface Row {
  name: StepName;
  tone: Tone;
  state: string;
  milliseconds: number | null;
  usual: number | null;
}

function rowOf(name: StepName, deployment: Deployment, others: readonly Deployment[], now: number): Row {
  const usual = usualMs(name, others);
  const step = deployment.steps.find((one) => one.name === name);
  const last = deployment.steps.at(-1)?.name === name;
  if (!step) {
    return { name, tone: 'plain', state: 'not started', milliseconds: null, usual };
  }
  const end = step.finishedAt ?? deployment.finishedAt;
  const milliseconds = (end === null ? now : Date.parse(end)) - Date.parse(step.startedAt);
  if (end === null) return { name, tone: 'busy', state: 'running', milliseconds, usual };
  if (last && deployment.status === 'failed') return { name, tone: 'bad', state: 'failed', milliseconds, usual };
  if (last && deployment.status === 'cancelled')
    return { name, tone: 'plain', state: 'cancelled', milliseconds, usual };
  return { name, tone: 'good', state: 'done', milliseconds, usual };
}

import type { StackPlan } from './api-types.js';
import { count, oneLine } from './terminal-text.js';

type Change = StackPlan['changes'][number];
export type Tone = 'good' | 'bad' | 'change' | 'plain';

const SIGNS: Readonly<Record<Change['action'], string>> = { create: '+', update: '~', delete: '-', replace: '±' };
const TONES: Readonly<Record<Change['action'], Tone>> = {
  create: 'good',
  update: 'change',
  delete: 'bad',
  replace: 'bad',
};

/** Bounds of a printed value: characters per line, and lines. */
const MAX_WIDTH = 100;
const MAX_LINES = 12;

export function planLines(plan: StackPlan): { text: string; tone: Tone }[] {
  const lines: { text: string; tone: Tone }[] = [];
  for (const { action, kind, name, fields } of plan.changes) {
    lines.push({ text: `${SIGNS[action]} ${kind} ${oneLine(name)}`, tone: TONES[action] });
    for (const { path, from, to } of fields) {
      const about = `    ${path.slice(1)}:`;
      const [before, after] = [shownLines(from), shownLines(to)];
      const change = action === 'create' ? after.join() : `${before.join()} → ${after.join()}`;
      if (before.length + after.length === 2 && change.length <= MAX_WIDTH) {
        lines.push({ text: `${about} ${change}`, tone: 'plain' });
        continue;
      }
      lines.push({ text: about, tone: 'plain' });
      const removed = action === 'create' ? [] : before.map((line) => `- ${line}`);
      const signed = [...removed, ...after.map((line) => (action === 'create' ? line : `+ ${line}`))];
      for (const line of signed) lines.push({ text: `      ${line}`, tone: 'plain' });
    }
  }
  if (plan.deploys.length > 0) {
    const together = plan.release === 'together' ? ', all together or none' : '';
    lines.push({ text: `Deploys ${plan.deploys.map(oneLine).join(', ')}${together}`, tone: 'plain' });
  }
  for (const warning of plan.warnings) lines.push({ text: `! ${oneLine(warning)}`, tone: 'change' });
  return lines;
}

export function planSummary({ changes }: StackPlan): string {
  if (changes.length === 0) return 'Nothing to change.';
  const counted = (words: string, ...actions: Change['action'][]) => {
    const number = changes.filter(({ action }) => actions.includes(action)).length;
    return number === 0 ? [] : [`${number} ${words}`];
  };
  const parts = [
    ...counted('to create', 'create'),
    ...counted('to update', 'update'),
    ...counted('to replace', 'replace'),
    ...counted('to delete', 'delete'),
  ];
  return `${count(changes.length, 'change')}: ${parts.join(', ')}.`;
}

function shownLines(value: unknown): string[] {
  if (value === null || value === undefined) return ['nothing'];
  const text = typeof value === 'string' ? value.replace(/\n+$/, '') : JSON.stringify(value);
  const lines = text.split('\n').map((line) => oneLine(line));
  const shown = lines.slice(0, MAX_LINES).map((line) => {
    return line.length > MAX_WIDTH ? `${line.slice(0, MAX_WIDTH)}… (${line.length} characters)` : line;
  });
  if (text === '') return ["''"];
  return lines.length > MAX_LINES ? [...shown, `… ${count(lines.length - MAX_LINES, 'more line')}`] : shown;
}

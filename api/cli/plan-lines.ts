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

/** Returns a plan as lines: each change with its fields, the deployed services, and warnings. */
export function planLines(plan: StackPlan): { text: string; tone: Tone }[] {
  const lines: { text: string; tone: Tone }[] = [];
  for (const { action, kind, name, fields } of plan.changes) {
    lines.push({ text: `${SIGNS[action]} ${kind} ${oneLine(name)}`, tone: TONES[action] });
    for (const { path, from, to } of fields) {
      const change = action === 'create' ? shown(to) : `${shown(from)} → ${shown(to)}`;
      lines.push({ text: `    ${path.slice(1)}: ${change}`, tone: 'plain' });
    }
  }
  if (plan.deploys.length > 0) {
    const together = plan.release === 'together' ? ', all together or none' : '';
    lines.push({ text: `Deploys ${plan.deploys.map(oneLine).join(', ')}${together}`, tone: 'plain' });
  }
  for (const warning of plan.warnings) lines.push({ text: `! ${oneLine(warning)}`, tone: 'change' });
  return lines;
}

/** Returns how many resources a plan changes, in words. */
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

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value)) || "''";
}

import type { Fault } from '../fault.js';

const LIMITS = 'shared/workspaces/workspace-limits.ts';
const BILLING = 'shared/workspaces/billing.ts';

export const WORKSPACES_FAULTS: readonly Fault[] = [
  { name: 'limits: one service too many', file: LIMITS, find: '< workspaceLimit)', replace: '<= workspaceLimit)' },
  {
    name: 'limits: overages are never allowed',
    file: LIMITS,
    find: ' || workspaceConfiguration(workspace.configuration).allowOverages',
    replace: '',
  },
  { name: 'limits: builds go on past their minutes', file: LIMITS, find: '< limit)', replace: '<= limit)' },
  {
    name: 'limits: the budget may not be reached',
    file: LIMITS,
    find: 'cost <= budget ?',
    replace: 'cost < budget ?',
  },
  {
    name: 'limits: the service counts twice',
    file: LIMITS,
    find: '.filter(({ id }) => id !== service.id)',
    replace: '',
  },
  {
    name: 'limits: builds of earlier months count',
    file: 'shared/workspaces/plan-usage.ts',
    find: "and t.month = (month.start at time zone 'UTC')::date",
    replace: '',
  },
  {
    name: 'limits: alerts come late',
    file: BILLING,
    find: 'cost * 100 >= budget * threshold',
    replace: 'cost * 100 > budget * threshold',
  },
  { name: 'limits: lifting the budget is no consent', file: BILLING, find: '|| lifted ', replace: '' },
  { name: 'limits: another currency is no consent', file: BILLING, find: ' || revalued', replace: '' },
  { name: 'limits: overages bind', file: BILLING, find: 'budget > 0 && !allowOverages', replace: 'budget > 0' },
];

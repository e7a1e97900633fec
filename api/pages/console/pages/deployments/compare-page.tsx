import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Deployment } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { Card, Table } from '../../ui/card.js';
import { durationText } from '../../ui/duration-text.js';
import { SelectField } from '../../ui/field.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { deploymentStatus } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import { useService, useServicePath } from '../services/service-shell.js';
import { commitText, STEP_TEXT, stepsOf } from './deployment-text.js';

const DEPLOYS = '/workspaces/{workspaceId}/services/{serviceId}/deploys';

export function ComparePage() {
  const path = useServicePath();
  const service = useService();
  const { a, b } = useSearch({ from: '/w/$workspaceId/s/$serviceId/compare' });
  const navigate = useNavigate();
  const query = useGet(DEPLOYS, { path, query: { limit: 50 } }, { poll: false });
  return (
    <Loaded query={query} skeleton={<Skeleton rows={3} height={90} />}>
      {({ items }) => {
        const [newest, former] = items;
        if (!newest || !former)
          return (
            <Empty title="Nothing to compare yet">
              Once the service has two deployments, this page shows what differs.
            </Empty>
          );
        const left =
          items.find(({ id }) => id === a) ??
          items.find(({ id }) => id === service.liveDeploymentId && id !== newest.id) ??
          former;
        const right = items.find(({ id }) => id === b) ?? newest;
        const options = items.map((item) => ({
          value: item.id,
          text: `${commitText(item)} · ${deploymentStatus(item, service.liveDeploymentId).text}`.slice(0, 90),
        }));
        const choose = (search: { a: string; b: string }) =>
          void navigate({ to: '/w/$workspaceId/s/$serviceId/compare', params: path, search, replace: true });
        return (
          <>
            <div className={u.row}>
              <SelectField
                label="From"
                options={options}
                value={left.id}
                onChange={(id) => choose({ a: id, b: right.id })}
              />
              <SelectField
                label="To"
                options={options}
                value={right.id}
                onChange={(id) => choose({ a: left.id, b: id })}
              />
            </div>
            <Differences left={left} right={right} />
          </>
        );
      }}
    </Loaded>
  );
}

function useSnapshot({ id }: Deployment) {
  const path = { ...useServicePath(), deploymentId: id };
  return useGet(`${DEPLOYS}/{deploymentId}/snapshot`, { path }, { poll: false });
}

function Differences({ left, right }: { left: Deployment; right: Deployment }) {
  const before = useSnapshot(left);
  const after = useSnapshot(right);
  const rows: [name: string, from: string, to: string][] = [
    ['Commit', commitText(left), commitText(right)],
    ['Branch', left.branch, right.branch],
    ...stepsOf([left, right]).map((name): [string, string, string] => [
      STEP_TEXT[name],
      stepText(left, name),
      stepText(right, name),
    ]),
  ];
  const x = before.data?.snapshot;
  const y = after.data?.snapshot;
  if (x && y) {
    for (const name of Object.keys({
      ...x.configuration,
      ...y.configuration,
    }).sort() as (keyof typeof x.configuration)[]) {
      const [from, to] = [textOf(x.configuration[name]), textOf(y.configuration[name])];
      if (from !== to) rows.push([name, from, to]);
    }
    const names = [...new Set([...(x.variables ?? []), ...(y.variables ?? [])])].sort();
    for (const name of names) {
      const [from, to] = [x.variables?.includes(name), y.variables?.includes(name)];
      if (from !== to) rows.push([`variable ${name}`, from ? 'set' : '–', to ? 'set' : '–']);
    }
  }
  const failed = before.error ?? after.error;
  return (
    <Loaded<unknown> query={{ data: x && y, error: failed, refetch: before.refetch as never }}>
      {() => (
        <Card>
          <Table columns={['Field', 'From', 'To']}>
            {rows
              .filter(([, from, to], index) => index === 0 || from !== to)
              .map(([name, from, to]) => (
                <tr key={name}>
                  <td>{name}</td>
                  <td>{from || '–'}</td>
                  <td>{from === to ? 'unchanged' : to || '–'}</td>
                </tr>
              ))}
          </Table>
        </Card>
      )}
    </Loaded>
  );
}

function stepText({ steps }: Deployment, name: string): string {
  const step = steps.find((one) => one.name === name);
  return step?.finishedAt ? durationText(Date.parse(step.finishedAt) - Date.parse(step.startedAt)) : '–';
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

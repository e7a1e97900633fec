import { Link } from '@tanstack/react-router';
import type { Service, Workspace } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { LinkButton } from '../../ui/button.js';
import { Card, Table } from '../../ui/card.js';
import { optionLabel } from '../../ui/option-labels.js';
import { KIND_TEXT } from '../../ui/source-text.js';
import { Empty, Loaded, Notice, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { useWorkspaceId } from '../page.js';
import w from './workspace.module.css';

export function UsagePage() {
  const workspaceId = useWorkspaceId();
  const path = { workspaceId };
  const workspace = useGet('/workspaces/{workspaceId}', { path });
  const services = useGet('/workspaces/{workspaceId}/services', { path });
  return (
    <Loaded query={workspace} skeleton={<Skeleton rows={2} height={150} />}>
      {({ workspace: { plan, entitlements, billing } }) => (
        <>
          <Budget billing={billing} />
          <dl className={`${u.card} ${w.usage}`}>
            <Fact name="Plan" value={optionLabel('plan', plan)} />
            <Meter name="Services" {...entitlements.services} />
            <Meter name="Build minutes this month" {...entitlements.buildMinutes} />
            <Fact name="Build concurrency" value={String(entitlements.buildConcurrency)} />
            <Fact
              name="Log retention"
              value={`${entitlements.logDays} ${entitlements.logDays === 1 ? 'day' : 'days'}`}
            />
            <Meter
              name="Estimated per month"
              used={billing.estimatedMonthly}
              limit={billing.budget === 0 ? null : billing.budget}
              unit={billing.currency}
            />
          </dl>
          <Loaded query={services} skeleton={<Skeleton rows={3} height={44} />}>
            {({ services: all }) => <Costs services={all} currency={billing.currency} />}
          </Loaded>
        </>
      )}
    </Loaded>
  );
}

function Budget({ billing: { budgetUsedPercent, allowOverages } }: { billing: Workspace['billing'] }) {
  if (budgetUsedPercent === null || budgetUsedPercent < 80) return null;
  return (
    <Notice tone="warn" title={`${budgetUsedPercent} % of the budget used`}>
      {allowOverages
        ? 'Overages are allowed, so deployments continue.'
        : 'Deployments that exceed the budget are refused. Choose smaller plans, or raise the budget in the settings.'}
    </Notice>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Meter({ name, used, limit, unit = '' }: { name: string; used: number; limit: number | null; unit?: string }) {
  const text = `${Math.round(used * 100) / 100}${limit === null ? '' : ` of ${limit}`} ${unit}`.trim();
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {text}
        {limit === null ? null : (
          <meter className={w.meter} aria-label={name} min={0} max={limit} high={limit * 0.8} value={used}>
            {text}
          </meter>
        )}
      </dd>
    </div>
  );
}

function Costs({ services, currency }: { services: readonly Service[]; currency: string }) {
  const workspaceId = useWorkspaceId();
  const price = currency === 'NGN' ? 'ngn' : 'usd';
  const rows = services
    .filter(({ archived }) => !archived)
    .sort((a, b) => b.estimatedMonthly[price] - a.estimatedMonthly[price] || a.name.localeCompare(b.name));
  if (rows.length === 0) {
    return (
      <Empty
        title="No costs yet"
        action={
          <LinkButton to="/w/$workspaceId/new" params={{ workspaceId }}>
            New service
          </LinkButton>
        }
      >
        The estimated monthly cost of each service appears here.
      </Empty>
    );
  }
  return (
    <Card>
      <Table
        columns={[
          'Service',
          { text: 'Kind', className: u.wide },
          'Plan',
          { text: 'Replicas', className: u.wide },
          { text: 'Estimated per month', className: u.end },
        ]}
      >
        {rows.map(({ id, name, kind, configuration, estimatedMonthly }) => (
          <tr key={id}>
            <td>
              <Link to="/w/$workspaceId/s/$serviceId" params={{ workspaceId, serviceId: id }}>
                {name}
              </Link>
            </td>
            <td className={u.wide}>{KIND_TEXT[kind]}</td>
            <td>{optionLabel('plan', configuration.plan)}</td>
            <td className={u.wide}>{configuration.replicas}</td>
            <td className={u.end}>{estimatedMonthly.priced ? `${estimatedMonthly[price]} ${currency}` : 'no price'}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

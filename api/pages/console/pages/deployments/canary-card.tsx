import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Deployment, Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Table } from '../../ui/card.js';
import { ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { useServicePath } from '../services/service-shell.js';

const DEPLOYMENT = '/workspaces/{workspaceId}/services/{serviceId}/deploys/{deploymentId}';

type Canary = Schemas['Canary'];

/** Shows requests, errors and latencies of the new and the previous release, as counted by the edge proxies. */
export function CanaryCard({ deployment }: { deployment: Deployment }) {
  const of = { ...useServicePath(), deploymentId: deployment.id };
  const query = useGet(
    `${DEPLOYMENT}/canary`,
    { path: of },
    { working: ({ canary }) => canary?.outcome === 'running' },
  );
  return (
    <Loaded query={query} skeleton={<Skeleton rows={1} height={160} />}>
      {({ canary }) =>
        canary === null ? null : (
          <Card title="Canary">
            <div className={`${u.cardBody} ${u.stack}`}>
              <p>
                <Outcome canary={canary} />
              </p>
              <Table columns={['Release', 'Requests', 'Errors', 'p50', 'p95', 'Ready replicas']}>
                <Side name="New" side={canary.new} />
                <Side name="Previous" side={canary.previous} />
              </Table>
              {canary.outcome === 'running' ? <Ends deployment={deployment} /> : null}
            </div>
          </Card>
        )
      }
    </Loaded>
  );
}

function Outcome({ canary: { percent, endsAt, outcome, reason } }: { canary: Canary }) {
  if (outcome === 'promoted') return <>All visitors got the new release: {reason}.</>;
  if (outcome === 'withdrawn') return <>All visitors went back to the previous release: {reason}.</>;
  return (
    <>
      {percent} % of visitors get the new release. If it is not worse, all get it: <Ago at={endsAt} />
    </>
  );
}

function Side({ name, side }: { name: string; side: Canary['new'] }) {
  const { requests, errors, latencyP50, latencyP95, readyReplicas } = side;
  const milliseconds = (value: number | null) => (value === null ? '–' : `${Math.round(value)} ms`);
  const share = requests === 0 ? '' : ` (${Math.round((errors / requests) * 1_000) / 10} %)`;
  return (
    <tr>
      <td>{name}</td>
      <td>{requests}</td>
      <td>{`${errors}${share}`}</td>
      <td>{milliseconds(latencyP50)}</td>
      <td>{milliseconds(latencyP95)}</td>
      <td>{readyReplicas}</td>
    </tr>
  );
}

function Ends({ deployment: { id, cancelRequested } }: { deployment: Deployment }) {
  const of = { ...useServicePath(), deploymentId: id };
  const refusal = useRefusal(of.workspaceId, 'developer');
  const promote = useWrite(() => post(`${DEPLOYMENT}/promote`, { path: of }));
  const cancel = useWrite(() => post(`${DEPLOYMENT}/cancel`, { path: of }));
  const error = promote.error ?? cancel.error;
  return (
    <>
      <div className={u.actions}>
        <Button pending={promote.isPending} refusal={refusal} onClick={() => promote.mutate()}>
          Send all visitors to it
        </Button>
        <Button pending={cancel.isPending || cancelRequested} refusal={refusal} onClick={() => cancel.mutate()}>
          Send all visitors back
        </Button>
      </div>
      {error ? <ErrorNotice title="The canary was not ended" error={error} /> : null}
    </>
  );
}

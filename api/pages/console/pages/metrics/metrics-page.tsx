import { useMemo, useState } from 'react';
import type { Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { LinkButton } from '../../ui/button.js';
import { SelectField } from '../../ui/field.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { useServicePath } from '../services/service-shell.js';
import { Chart } from './chart.js';
import { aligned, CHARTS, type ChartOf, captionOf } from './figures.js';
import m from './metrics.module.css';

const HOURS = [
  { value: '1', text: 'Last hour' },
  { value: '6', text: 'Last 6 hours' },
  { value: '24', text: 'Last 24 hours' },
];

export function MetricsPage() {
  const path = useServicePath();
  const [hours, setHours] = useState('1');
  const query = useGet(
    '/workspaces/{workspaceId}/services/{serviceId}/metrics',
    { path, query: { hours: Number(hours) } },
    { keep: true },
  );
  return (
    <>
      <div style={{ maxWidth: 220 }}>
        <SelectField label="Time range" options={HOURS} value={hours} onChange={setHours} />
      </div>
      <Loaded query={query} skeleton={<Skeleton rows={3} height={220} />}>
        {({ metrics }) =>
          metrics.series.every(({ points }) => points.length === 0) ? (
            <Empty
              title="No metrics yet"
              action={
                <LinkButton to="/w/$workspaceId/s/$serviceId" params={path}>
                  Open deployments
                </LinkButton>
              }
            >
              CPU, memory and requests appear about a minute after the service starts.
            </Empty>
          ) : (
            <div className={m.charts}>
              {CHARTS.map((chart) => (
                <Figure key={chart.title} chart={chart} series={metrics.series} hours={Number(hours)} />
              ))}
            </div>
          )
        }
      </Loaded>
    </>
  );
}

function Figure({
  chart,
  series,
  hours,
}: {
  chart: ChartOf;
  series: readonly Schemas['MetricSeries'][];
  hours: number;
}) {
  const { times, values } = useMemo(
    () =>
      aligned(
        series,
        chart.series.map((one) => one.series),
      ),
    [series, chart],
  );
  if (times.length === 0) return null;
  return (
    <Chart
      title={chart.title}
      summary={captionOf(chart, values)}
      times={times}
      lines={chart.series}
      values={values}
      format={chart.format}
      whole={chart.whole ?? false}
      hours={hours}
    />
  );
}

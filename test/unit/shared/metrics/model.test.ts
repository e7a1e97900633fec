import { expect } from 'chai';
import fc from 'fast-check';
import {
  LATENCY_BOUNDS,
  latencyClass,
  MAX_HOURS,
  type MetricRow,
  quantile,
  RESOLUTIONS,
  ROWS_PER_SERVICE,
  resolutionFor,
  SERIES_NAMES,
  seriesOf,
} from '../../../../shared/metrics/model.js';

const EMPTY: MetricRow = {
  at: new Date('2026-11-22T10:00:00Z'),
  counts: 0,
  replicas: 0,
  samples: 0,
  cpu: 0,
  memory: 0,
  requests_2xx: 0,
  requests_3xx: 0,
  requests_4xx: 0,
  requests_5xx: 0,
  bytes_out: 0,
  latency: null,
  volume_bytes: null,
};

describe('The figures of a service', () => {
  it('are as fine as the hours that are asked for allow', () => {
    expect([1, 3, 4, 72, 73, MAX_HOURS].map((hours) => resolutionFor(hours).step)).to.deep.equal([
      15, 15, 300, 300, 3600, 3600,
    ]);
  });

  it('have at most so many rows as docs/how-to/monitor.md says, and each length divides the next', () => {
    expect(ROWS_PER_SERVICE).to.equal(2328);
    for (const [index, { step }] of RESOLUTIONS.entries()) {
      expect((RESOLUTIONS[index + 1]?.step ?? step) % step).to.equal(0);
    }
  });

  it('are averages of what was measured, sums of what was answered, and no points where nothing is known', () => {
    const rows: MetricRow[] = [
      {
        ...EMPTY,
        counts: 2,
        replicas: 5,
        samples: 4,
        cpu: 200,
        memory: 100,
        requests_2xx: 7,
        bytes_out: 900,
        volume_bytes: 77,
      },
      { ...EMPTY, at: new Date('2026-11-22T10:00:15Z'), requests_5xx: 1 },
    ];
    const series = seriesOf(rows);
    expect(series.map(({ name }) => name)).to.deep.equal(SERIES_NAMES);
    const points = Object.fromEntries(series.map(({ name, points }) => [name, points.map(([, value]) => value)]));
    expect(points).to.deep.include({
      cpu: [50],
      memory: [25],
      replicas: [2.5],
      requests_2xx: [7, 0],
      requests_5xx: [0, 1],
      latency_p50: [],
      bytes_out: [900, 0],
      volume_bytes: [77],
    });
    expect(series[0]?.points[0]?.[0]).to.equal('2026-11-22T10:00:00.000Z');
  });
});

describe('The latency of requests', () => {
  it('is estimated within its class, whatever the requests were', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 29_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.99),
        (latencies, share) => {
          const counts = new Array(LATENCY_BOUNDS.length + 1).fill(0);
          for (const ms of latencies) counts[latencyClass(ms)] += 1;
          const sorted = [...latencies].sort((a, b) => a - b);
          const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
          const place = latencyClass(exact);
          const estimate = quantile(counts, share) ?? -1;
          expect(estimate).to.be.within(
            LATENCY_BOUNDS[place - 1] ?? 0,
            LATENCY_BOUNDS[place] ?? Number.POSITIVE_INFINITY,
          );
        },
      ),
    );
  });

  it('is unknown without requests, and the last bound for those that took longer', () => {
    expect(quantile([], 0.5)).to.equal(null);
    const counts = new Array(LATENCY_BOUNDS.length + 1).fill(0);
    counts[LATENCY_BOUNDS.length] = 3;
    expect(quantile(counts, 0.99)).to.equal(30_000);
  });
});

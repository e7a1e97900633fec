import { expect } from 'chai';
import { logsRequest } from '../../../../workers/drains/encode-logs.js';
import { metricsRequest } from '../../../../workers/drains/encode-metrics.js';
import { tracesRequest } from '../../../../workers/drains/encode-traces.js';
import { decodeOtlp } from '../../../support/otlp-collector.js';

const AT = new Date('2026-11-27T10:00:00.123Z');
const FACTS = {
  ...{ service_id: 'a1', workspace_id: 'w1', service_name: 'shop' },
  ...{ project_name: null, environment_name: 'Production' },
};
const roundTrip = (path: string, request: object) => decodeOtlp(path, JSON.stringify(request));

describe('Records as OTLP', () => {
  it('log lines have a resource for each service, and any text', () => {
    const line = {
      ...{ ...FACTS, id: 7, deployment_id: null, run_id: 'r1', source: 'runtime' as const, logged_at: AT },
      ...{ level: 'error' as const, message: 'é "\\ \u0000 \u{1f600}' },
    };
    const other = { ...line, service_id: 'b2', level: 'debug' as const, message: '' };
    const { resourceLogs } = roundTrip('/v1/logs', logsRequest([line, other, { ...line, id: 8 }]));
    expect(resourceLogs.map(({ scopeLogs }: typeof resourceLogs) => scopeLogs[0].logRecords.length)).to.deep.equal([
      2, 1,
    ]);
    expect(resourceLogs[0].resource.attributes).to.deep.equal([
      { key: 'service.name', value: { stringValue: 'shop' } },
      { key: 'deployment.environment.name', value: { stringValue: 'Production' } },
      { key: 'ranvier.service.id', value: { stringValue: 'a1' } },
      { key: 'ranvier.workspace.id', value: { stringValue: 'w1' } },
    ]);
    const [first] = resourceLogs[0].scopeLogs[0].logRecords;
    expect(first).to.include({ severityNumber: 17, severityText: 'ERROR', timeUnixNano: '1795773600123000000' });
    expect(first.body.stringValue).to.equal(line.message);
    expect(first.attributes.map(({ key }: typeof first) => key)).to.deep.equal([
      ...['log.record.uid', 'ranvier.log.source', 'ranvier.run.id'],
    ]);
  });

  it('steps without figures have no metrics, and figures of 0 are figures', () => {
    const none = {
      ...{ ...FACTS, at: AT, counts: 0, replicas: 0, samples: 0, cpu: 0, memory: 0, bytes_out: 0 },
      ...{
        requests_2xx: 0,
        requests_3xx: 0,
        requests_4xx: 0,
        requests_5xx: 0,
        latency: null,
        volume_bytes: null,
        restarts: 0,
      },
    };
    const metricsOf = (row: typeof none | object) => {
      const { resourceMetrics } = roundTrip('/v1/metrics', metricsRequest([{ ...none, ...row }]));
      return resourceMetrics[0].scopeMetrics[0].metrics ?? [];
    };
    expect(metricsOf({})).to.deep.equal([]);
    const [cpu, memory, ...rest] = metricsOf({ samples: 3, cpu: 0, memory: 100 });
    expect(rest).to.deep.equal([]);
    expect(cpu.gauge.dataPoints[0].asDouble).to.equal(0);
    expect(memory.gauge.dataPoints[0].asDouble).to.be.closeTo(1 / 3, 1e-9);
    // Rows of an earlier version may have fewer classes.
    const [latency] = metricsOf({ latency: [1, 2] });
    const [point] = latency.histogram.dataPoints;
    expect(latency.histogram.aggregationTemporality).to.equal(1);
    expect(point.bucketCounts.length).to.equal(point.explicitBounds.length + 1);
    expect(point.count).to.equal('3');
    const [sent] = metricsOf({ bytes_out: 2 ** 40 });
    expect(sent.sum).to.include({ isMonotonic: true, aggregationTemporality: 1 });
    expect(sent.sum.dataPoints[0].asInt).to.equal(String(2 ** 40));
  });

  it('a cancelled deployment has no status, and a step that never ended ends with it', () => {
    const request = tracesRequest([
      {
        ...{ ...FACTS, id: '0198c0de-0000-7000-8000-000000000001', status: 'cancelled', trigger: 'manual', branch: '' },
        ...{ commit_sha: '', error: '', created_at: AT, finished_at: new Date(AT.getTime() + 5), traceparent: null },
        steps: [{ name: 'queued', startedAt: AT.toISOString(), finishedAt: null }],
      },
    ]);
    const [whole, step] = roundTrip('/v1/traces', request).resourceSpans[0].scopeSpans[0].spans;
    expect(whole.status).to.deep.equal({});
    expect(whole.traceId.toString('hex')).to.equal('0198c0de000070008000000000000001');
    expect(whole.attributes.map(({ key }: typeof whole) => key)).to.not.include('vcs.ref.head.name');
    expect(step.endTimeUnixNano).to.equal(whole.endTimeUnixNano);
    expect(step.parentSpanId.toString('hex')).to.equal(whole.spanId.toString('hex'));
  });
});

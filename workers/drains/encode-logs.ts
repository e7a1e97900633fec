import type { LogLevel, LogLineRow } from '../../shared/logs/model.js';
import { attributes, byService, nanoseconds, SCOPE, type ServiceFacts } from './otlp.js';

const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 };

/** Returns the OTLP export request for these log lines. */
export function logsRequest(lines: readonly (LogLineRow & ServiceFacts)[]) {
  return {
    resourceLogs: byService(lines).map(({ resource, rows }) => ({
      resource,
      scopeLogs: [{ scope: SCOPE, logRecords: rows.map(recordOf) }],
    })),
  };
}

function recordOf({ service_id, id, deployment_id, run_id, source, level, message, logged_at }: LogLineRow) {
  return {
    timeUnixNano: nanoseconds(logged_at),
    observedTimeUnixNano: nanoseconds(logged_at),
    severityNumber: SEVERITY[level],
    severityText: level.toUpperCase(),
    body: { stringValue: message },
    attributes: attributes({
      // By this id, the collector recognizes a line that is sent twice.
      'log.record.uid': `${service_id}-${id}`,
      'ranvier.log.source': source,
      'ranvier.deployment.id': deployment_id,
      'ranvier.run.id': run_id,
    }),
  };
}

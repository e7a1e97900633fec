import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import type { Json } from './api.js';
import { listen } from './http.js';

/**
 * The messages of OTLP 1.11.0, by protobufjs from github.com/open-telemetry/opentelemetry-proto (Apache License 2.0).
 */
const ROOT = protobuf.Root.fromJSON(
  JSON.parse(readFileSync(fileURLToPath(new URL('../../../test/support/otlp.json', import.meta.url)), 'utf8')),
);
const MESSAGES: Readonly<Record<string, string>> = {
  '/v1/logs': 'opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest',
  '/v1/metrics': 'opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest',
  '/v1/traces': 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest',
};
/** Fields that OTLP writes as hexadecimal digits in JSON → their length in bytes. */
const IDS: Readonly<Record<string, number>> = { traceId: 16, spanId: 8, parentSpanId: 8 };
const LONG = /^s?fixed64$|^[su]?int64$/;

/** Decodes a message. Throws for unknown fields, ids of another length, and 64-bit integers that are no text. */
export function decodeOtlp(path: string, text: string): Json {
  const type = ROOT.lookupType(MESSAGES[path] ?? path);
  const given = withBytes(type, JSON.parse(text), path);
  const refusal = type.verify(given);
  if (refusal !== null) throw new Error(`${path}: ${refusal}`);
  const bytes = type.encode(type.fromObject(given)).finish();
  return type.toObject(type.decode(bytes), { longs: String });
}

function withBytes(type: protobuf.Type, value: Json, path: string): Json {
  return Object.fromEntries(
    Object.entries<Json>(value).map(([name, given]) => {
      const field = type.fields[name]?.resolve();
      if (field === undefined) throw new Error(`${path}: ${type.name} has no field ${name}`);
      const read = (one: Json) => readField(field, one, `${path}.${name}`);
      return [name, field.repeated ? given.map(read) : read(given)];
    }),
  );
}

function readField(field: protobuf.Field, value: Json, path: string): Json {
  if (field.resolvedType instanceof protobuf.Type) return withBytes(field.resolvedType, value, path);
  if (LONG.test(field.type)) {
    if (typeof value !== 'string' || !/^\d+$/.test(value)) throw new Error(`${path}: ${value} is no integer in a text`);
    const [low, high] = [Number(BigInt(value) & 0xffff_ffffn), Number(BigInt(value) >> 32n)];
    return { low, high, unsigned: true };
  }
  if (field.type !== 'bytes') return value;
  if (!new RegExp(`^[0-9a-f]{${2 * (IDS[field.name] ?? 0)}}$`).test(value))
    throw new Error(`${path}: ${value} is no id`);
  return Buffer.from(value, 'hex');
}

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  bytes: number;
  message: Json;
}

type CollectorAnswer = (response: ServerResponse, received: Received) => unknown;

/** A collector of logs, metrics and traces, which decodes the requests that it gets. */
export interface Collector {
  url: string;
  requests: Received[];
  stored: Received[];
  faults: string[];
  /** The highest number of requests at the same time. */
  atOnce: number;
  answer: CollectorAnswer;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  let open = 0;
  const server = createServer(async (request, response) => {
    collector.atOnce = Math.max(collector.atOnce, ++open);
    response.once('close', () => open--);
    let text = '';
    for await (const chunk of request) text += chunk;
    const path = request.url ?? '';
    try {
      const { headers } = request;
      const received = {
        path,
        headers,
        bytes: text.length,
        message: decodeOtlp(path.replace(/^.*(?=\/v1\/)/, ''), text),
      };
      collector.requests.push(received);
      await collector.answer(response, received);
      if (response.statusCode === 200) collector.stored.push(received);
    } catch (error) {
      collector.faults.push(String(error));
      response.writeHead(400).end();
    }
  });
  const collector: Collector = {
    url: `http://127.0.0.1:${await listen(server)}`,
    requests: [],
    stored: [],
    faults: [],
    atOnce: 0,
    answer: accept,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

export function accept(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
}

/** Returns the log records of stored requests, with their attributes by name. */
export function logRecordsOf(stored: readonly Received[]): Json[] {
  return stored
    .flatMap(({ message }) => message.resourceLogs ?? [])
    .flatMap(({ resource, scopeLogs }: Json) =>
      scopeLogs[0].logRecords.map((record: Json) => ({
        ...record,
        ...{
          attributes: valuesOf(record.attributes),
          resource: valuesOf(resource.attributes),
          text: record.body.stringValue,
        },
      })),
    );
}

/** Returns the spans of stored requests, with ids in hexadecimal digits and attributes by name. */
export function spansOf(stored: readonly Received[]): Json[] {
  return stored
    .flatMap(({ message }) => message.resourceSpans ?? [])
    .flatMap(({ scopeSpans }: Json) =>
      scopeSpans[0].spans.map((span: Json) => ({ ...span, ...hexIdsOf(span), attributes: valuesOf(span.attributes) })),
    );
}

function hexIdsOf(span: Json): Json {
  const ids = Object.keys(IDS).filter((name) => name in span);
  return Object.fromEntries(ids.map((name) => [name, Buffer.from(span[name]).toString('hex')]));
}

/** Returns the data points of a metric in stored requests, with their service and attributes by name. */
export function pointsOf(stored: readonly Received[], metric: string): Json[] {
  return stored
    .flatMap(({ message }) => message.resourceMetrics ?? [])
    .flatMap(({ resource, scopeMetrics }: Json) =>
      scopeMetrics[0].metrics
        .filter(({ name }: Json) => name === metric)
        .flatMap(({ gauge, sum, histogram }: Json) =>
          (gauge ?? sum ?? histogram).dataPoints.map((point: Json) => ({
            ...point,
            ...{
              attributes: valuesOf(point.attributes ?? []),
              service: valuesOf(resource.attributes)['ranvier.service.id'],
            },
          })),
        ),
    );
}

function valuesOf(attributes: Json[]): Json {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue]),
  );
}

/**
 * Builds parts of OTLP messages in their JSON encoding. In this encoding, ids are hexadecimal, and 64-bit integers are
 * strings (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
 */

export interface ServiceFacts {
  service_id: string;
  workspace_id: string;
  service_name: string;
  project_name: string | null;
  environment_name: string | null;
}

export const SCOPE = { name: 'ranvier' };

/** Returns a time in nanoseconds since 1970, as a string. */
export function nanoseconds(time: Date): string {
  return `${time.getTime()}000000`;
}

/** Returns OTLP attributes, without those that have no value. */
export function attributes(values: Readonly<Record<string, string | null>>) {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null || value === '' ? [] : [{ key, value: { stringValue: value } }],
  );
}

/** Returns records grouped by service, in the order of each service's first record. */
export function byService<T extends ServiceFacts>(rows: readonly T[]) {
  const groups = new Map<string, { resource: ReturnType<typeof resourceOf>; rows: T[] }>();
  for (const row of rows) {
    const group = groups.get(row.service_id) ?? { resource: resourceOf(row), rows: [] };
    group.rows.push(row);
    groups.set(row.service_id, group);
  }
  return [...groups.values()];
}

function resourceOf(facts: ServiceFacts) {
  return {
    attributes: attributes({
      'service.name': facts.service_name,
      'service.namespace': facts.project_name,
      'deployment.environment.name': facts.environment_name,
      'ranvier.service.id': facts.service_id,
      'ranvier.workspace.id': facts.workspace_id,
    }),
  };
}

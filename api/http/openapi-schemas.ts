import type { TSchema } from 'typebox';

export type Json = { [name: string]: unknown };

/** Collects the schemas that become components of the OpenAPI document. */
export class SchemaComponents {
  readonly schemas: Json = {};

  /** Converts a schema to OpenAPI. A schema with a name (`$id`, else `name`, else its title) becomes a component. */
  refer(schema: TSchema, name?: string): unknown {
    return this.#convert(name === undefined || '$id' in schema ? schema : { ...schema, $id: name });
  }

  #convert(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#convert(item));
    if (typeof value !== 'object' || value === null) return value;
    const { $id, title } = value as Json;
    // `title` may be a keyword of the schema (a string) or a field with that name (a schema).
    const isTitled = typeof title === 'string';
    // Object.entries omits the symbols under which TypeBox stores its own data.
    const converted = Object.fromEntries(
      Object.entries(asMap(withAlternatives(value as Json)))
        .filter(([keyword]) => keyword !== '$id' && !(isTitled && keyword === 'title'))
        .map(([keyword, child]) => [
          keyword,
          keyword === 'description' && typeof child === 'string' ? capitalized(child) : this.#convert(child),
        ]),
    );
    if (typeof $id === 'string') return this.#name($id, converted);
    if (!isTitled) return converted;
    // A description applies to this use of the schema, so it is next to the reference and not in the component.
    const { default: fallback, description, ...common } = converted;
    return {
      ...this.#name(title, common),
      ...(fallback === undefined ? {} : { default: fallback }),
      ...(description === undefined ? {} : { description }),
    };
  }

  #name(name: string, schema: Json): Json {
    this.schemas[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** Converts `patternProperties` to `additionalProperties`, which client generators support. */
function asMap({ patternProperties, ...schema }: Json): Json {
  const [record, ...further] = Object.entries(patternProperties ?? {});
  if (!record || further.length > 0) return patternProperties === undefined ? schema : { ...schema, patternProperties };
  const [pattern, additionalProperties] = record;
  return { ...schema, propertyNames: { pattern }, additionalProperties };
}

/** Adds the fields' types to `oneOf` alternatives that list only required fields. Client generators need the types. */
function withAlternatives({ oneOf, ...schema }: Json): Json {
  if (!Array.isArray(oneOf)) return oneOf === undefined ? schema : { ...schema, oneOf };
  const properties = schema.properties as Json;
  const typed = (oneOf as { required: string[] }[]).map(({ required }) => ({
    type: 'object',
    required,
    properties: Object.fromEntries(required.map((name) => [name, properties[name]])),
  }));
  return { ...schema, oneOf: typed };
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

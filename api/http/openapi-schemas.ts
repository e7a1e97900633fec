import type { TSchema } from 'typebox';

/** A JSON object of the document. */
export type Json = { [name: string]: unknown };

/** Collects the named schemas that a document refers to. */
export class SchemaComponents {
  readonly schemas: Json = {};

  /**
   * Returns the schema in the document's form. It is a reference if it has a name (`$id`, or the title of `oneOf`) or
   * is given one.
   */
  refer(schema: TSchema, name?: string): unknown {
    return this.#convert(name === undefined || '$id' in schema ? schema : { ...schema, $id: name });
  }

  #convert(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#convert(item));
    if (typeof value !== 'object' || value === null) return value;
    const { $id, title } = value as Json;
    // A schema's title is a string; a field named title is a schema.
    const isTitled = typeof title === 'string';
    // Object.entries leaves out the symbols under which TypeBox keeps its own data.
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
    // The description of one use of the schema stands beside the reference.
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

/**
 * Returns a record's schema with `additionalProperties`.
 * Client generators do not know `patternProperties`.
 */
function asMap({ patternProperties, ...schema }: Json): Json {
  const [record, ...further] = Object.entries(patternProperties ?? {});
  if (!record || further.length > 0) return patternProperties === undefined ? schema : { ...schema, patternProperties };
  const [pattern, additionalProperties] = record;
  return { ...schema, propertyNames: { pattern }, additionalProperties };
}

/** Adds the fields' types to alternatives that only name required fields. Client generators need them. */
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

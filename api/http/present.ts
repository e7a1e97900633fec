import type { Static, TObject, TSchema } from 'typebox';

/** The name of a field's column: `created_at` for `createdAt`. */
type Column<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Column<Rest>}`
  : Field;

/** The fields that `given` always contains, and for which a row needs no column. */
type AlwaysGiven<Given> = { [Field in keyof Given]-?: object extends Pick<Given, Field> ? never : Field }[keyof Given];

/** The columns of the fields that `given` may lack. The column of a text field may contain a time. */
type Row<View, Given> = {
  readonly [Field in Exclude<keyof View, AlwaysGiven<Given>> & string as Column<Field>]:
    | View[Field]
    | (string extends View[Field] ? Date : never);
};
type GivenFields<View> = { [Field in keyof View]?: View[Field] | undefined };

/** Presents a row with exactly the fields of the schema. A field of `given` takes precedence over the column. */
export function present<Schema extends TObject, const Given extends GivenFields<Static<Schema>> = Record<never, never>>(
  schema: Schema,
  row: Row<Static<Schema>, Given>,
  given?: Given,
): Static<Schema>;
export function present(
  { properties }: TObject,
  row: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>> = {},
): unknown {
  const view: Record<string, unknown> = {};
  for (const field of Object.keys(properties)) {
    const value = Object.hasOwn(given, field) ? given[field] : row[columnOf(field)];
    if (value !== undefined) view[field] = value instanceof Date ? value.toISOString() : value;
  }
  return view;
}

const COLUMNS = new Map<string, string>();

function columnOf(field: string): string {
  const known = COLUMNS.get(field);
  if (known !== undefined) return known;
  const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  COLUMNS.set(field, column);
  return column;
}

/** Returns a copy of a value with only the fields of its schema, also in nested objects and lists. */
export function pick<Schema extends TSchema>(schema: Schema, value: Static<Schema>): Static<Schema> {
  return picked(schema, value) as Static<Schema>;
}

function picked(schema: object, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('items' in schema && Array.isArray(value)) return value.map((item) => picked(schema.items as object, item));
  if (!('properties' in schema)) return value;
  const fields = Object.entries(schema.properties as Record<string, object>).map(([name, field]) => [
    name,
    picked(field, (value as Record<string, unknown>)[name]),
  ]);
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}

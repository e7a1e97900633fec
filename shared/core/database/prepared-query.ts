import pg from 'pg';

interface Shape {
  columns: readonly { name: string; parse: (text: string) => unknown }[];
  /** Copied for each row, so that all rows have the same shape in V8. */
  empty: Readonly<Record<string, null>>;
}

interface Described {
  shapes: Map<string, Shape>;
  /** Wraps the connection so that pg's Describe messages are not sent. */
  quiet: pg.Connection;
}

const connections = new WeakMap<pg.Connection, Described>();

function describedOf(connection: pg.Connection): Described {
  const known = connections.get(connection);
  if (known) return known;
  const quiet: pg.Connection = Object.create(connection);
  quiet.describe = () => undefined;
  const described = { shapes: new Map<string, Shape>(), quiet };
  connections.set(connection, described);
  return described;
}

/**
 * Lets PostgreSQL describe a named statement's columns only once per connection. pg asks at each execution, which costs
 * more than reading a few rows. The columns cannot change: PostgreSQL would refuse the statement instead.
 */
class PreparedQuery<Row> extends pg.Query {
  /** pg finds by this name whether the connection has parsed the statement. */
  readonly name: string;
  readonly #client: pg.Client;
  /** pg replaces this by a callback that also stops the timer of `query_timeout`. */
  declare callback: (error: unknown, rows: Row[]) => void;
  readonly #rows: Row[] = [];
  #shapes: Map<string, Shape> | undefined;
  #shape: Shape | undefined;
  #failure: unknown;

  constructor(
    client: pg.Client,
    { name, text }: { name: string; text: string },
    values: readonly unknown[],
    end: (error: unknown, rows: Row[]) => void,
  ) {
    super(text, values as unknown[]);
    this.name = name;
    this.#client = client;
    this.callback = end;
  }

  override submit = (connection: pg.Connection) => {
    const { shapes, quiet } = describedOf(connection);
    this.#shapes = shapes;
    this.#shape = shapes.get(this.name);
    return pg.Query.prototype.submit.call(this, this.#shape === undefined ? connection : quiet);
  };

  handleRowDescription({ fields }: { fields: readonly pg.FieldDef[] }): void {
    const columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: this.#client.getTypeParser(dataTypeID, 'text'),
    }));
    this.#shape = { columns, empty: Object.fromEntries(fields.map(({ name }) => [name, null])) };
    this.#shapes?.set(this.name, this.#shape);
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if (this.#failure !== undefined) return;
    try {
      if (this.#shape === undefined) throw new Error('PostgreSQL sent a row without its description');
      const { columns, empty } = this.#shape;
      const row: Record<string, unknown> = { ...empty };
      for (let index = 0; index < columns.length; index++) {
        const column = columns[index];
        const text = fields[index] ?? null;
        if (column !== undefined && text !== null) row[column.name] = column.parse(text);
      }
      this.#rows.push(row as Row);
    } catch (error) {
      this.#failure = error;
    }
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback(this.#failure, this.#rows);
  }

  handleError(error: unknown): void {
    this.callback(error, []);
  }
}

export function runPrepared<Row>(
  client: pg.Client,
  statement: { name: string; text: string },
  values: readonly unknown[],
): Promise<Row[]> {
  return new Promise<Row[]>((resolve, reject) => {
    client.query(
      new PreparedQuery<Row>(client, statement, values, (error, rows) => {
        if (error === undefined) resolve(rows);
        else reject(error);
      }),
    );
  });
}

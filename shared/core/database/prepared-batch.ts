import pg from 'pg';
import { PreparedQuery } from './prepared-query.js';

/** A named statement of a batch. */
interface Part {
  readonly name: string;
  readonly text: string;
}

/**
 * Named statements that are sent by one system call and answered by another. Only the last is followed by Sync, so PostgreSQL runs all in
 * one transaction. Each sees what was committed before it began, as in any other transaction. They have no values: a value that
 * cannot be sent would be found after the statements before it.
 */
class PreparedBatch extends pg.Query {
  readonly #parts: readonly Part[];
  readonly #queries: PreparedQuery<unknown>[];
  readonly #rows: unknown[][] = [];
  readonly #end: (error: unknown, rows: unknown[][]) => void;
  #failure: unknown;

  constructor(client: pg.Client, parts: readonly Part[], end: (error: unknown, rows: unknown[][]) => void) {
    super('');
    this.#parts = parts;
    this.#queries = parts.map(
      (part) =>
        new PreparedQuery(client, part, [], (error, rows) => {
          this.#failure ??= error;
          this.#rows.push(rows);
        }),
    );
    this.#end = end;
  }

  override submit = (connection: pg.Connection) => {
    const { parsedStatements, submittedNamedStatements } = connection as unknown as ParsingConnection;
    const unparsed = this.#parts.filter(({ name }) => parsedStatements[name] === undefined);
    connection.stream.cork();
    // A batch that failed may have parsed some of its statements. To close one that does not exist is no error.
    for (const { name } of unparsed) (connection as unknown as ParsingConnection).close({ type: 'S', name });
    for (const query of this.#queries) query.submit(unsyncedOf(connection));
    connection.sync();
    connection.stream.uncork();
    for (const { name } of unparsed) delete submittedNamedStatements[name];
  };

  get #current(): PreparedQuery<unknown> | undefined {
    return this.#queries[this.#rows.length];
  }

  handleRowDescription(message: { fields: readonly pg.FieldDef[] }): void {
    this.#current?.handleRowDescription(message);
  }

  handleDataRow(message: { fields: readonly (string | null)[] }): void {
    this.#current?.handleDataRow(message);
  }

  handleCommandComplete(): void {
    this.#current?.handleReadyForQuery();
  }

  handleReadyForQuery(connection: ParsingConnection): void {
    for (const { name, text } of this.#parts) connection.parsedStatements[name] = text;
    this.#end(this.#failure, this.#rows);
  }

  handleError(error: unknown): void {
    this.#end(error, []);
  }
}

/** The part of pg's connection that knows which statements were parsed. */
interface ParsingConnection {
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
  close(message: { type: 'S'; name: string }): void;
}

const unsynced = new WeakMap<pg.Connection, pg.Connection>();

/** The connection without Sync. */
function unsyncedOf(connection: pg.Connection): pg.Connection {
  const known = unsynced.get(connection);
  if (known) return known;
  const made: pg.Connection = Object.create(connection);
  made.sync = () => undefined;
  unsynced.set(connection, made);
  return made;
}

/** The rows of each statement. */
export function runBatch(client: pg.Client, parts: readonly Part[]): Promise<unknown[][]> {
  return new Promise<unknown[][]>((resolve, reject) => {
    const batch: pg.Submittable = new PreparedBatch(client, parts, (error, rows) => {
      if (error === undefined) resolve(rows);
      else reject(error);
    });
    client.query(batch);
  });
}

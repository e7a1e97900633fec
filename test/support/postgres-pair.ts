import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { writePrivately } from '../../shared/launcher/private-file.js';
import { postgresUser, runAs, type SystemUser } from '../../shared/launcher/system-user.js';
import { spawnTethered, type Tethered } from '../../shared/launcher/tethered-child.js';
import { eventually, freePorts } from './processes.js';

/** Debian's folder of PostgreSQL's programs, with a folder for each major version. */
const PACKAGED = '/usr/lib/postgresql';
const PASSWORD = randomBytes(12).toString('hex');
const ORPHAN_SECONDS = 10;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 300,
  wal_level: 'replica',
  hot_standby: 'on',
  jit: 'off',
  // The data need not survive a crash of the machine.
  fsync: 'off',
  log_min_messages: 'fatal',
};

/** Returns the folder of PostgreSQL's programs with pg_basebackup, which the embedded package lacks; null without. */
export async function packagedPostgres(): Promise<string | null> {
  const versions = await readdir(PACKAGED).catch(() => []);
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? null : join(PACKAGED, newest, 'bin');
}

class Member {
  readonly port: number;
  readonly folder: string;
  #server: Tethered | null = null;

  constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
  }

  url(database = 'postgres'): string {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  async start(bin: string, user: SystemUser | undefined): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, port: this.port }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    this.#server = await spawnTethered([join(bin, 'postgres'), '-D', this.folder, ...settings], {
      stopSignal: 'INT',
      orphanSeconds: ORPHAN_SECONDS,
      label: 'ranvier-test-pair',
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      cwd: '/',
      user,
    });
    this.#server.stdout.resume();
    this.#server.stderr.resume();
    await eventually(`PostgreSQL on port ${this.port} accepts connections`, () => this.ask('select true as yes'));
  }

  /** Ends the server at once: no checkpoint, and what was not sent to the standby is lost. */
  async kill(): Promise<void> {
    this.#server?.kill('SIGQUIT');
    await this.#server?.ended;
    this.#server = null;
  }

  async ask(sql: string): Promise<unknown> {
    const client = new pg.Client({ connectionString: this.url() });
    await client.connect();
    try {
      const { rows } = await client.query({ text: sql, rowMode: 'array' });
      return rows[0]?.[0];
    } finally {
      await client.end();
    }
  }
}

/** A primary and its synchronous standby behind one address, which moves like a user's proxy or floating address. */
export class PostgresPair {
  readonly #bin: string;
  readonly #user: SystemUser | undefined;
  readonly #folder: string;
  readonly #address: MovingAddress;
  #primary: Member;
  #standby: Member;

  private constructor(init: {
    bin: string;
    user: SystemUser | undefined;
    folder: string;
    address: MovingAddress;
    ports: number[];
  }) {
    this.#bin = init.bin;
    this.#user = init.user;
    this.#folder = init.folder;
    this.#address = init.address;
    const [first = 0, second = 0] = init.ports;
    this.#primary = new Member(join(init.folder, 'first'), first);
    this.#standby = new Member(join(init.folder, 'second'), second);
  }

  /** Starts both servers. Throws if Debian's packages of PostgreSQL are not installed. */
  static async start(): Promise<PostgresPair> {
    const bin = await packagedPostgres();
    if (bin === null) throw new Error(`a standby requires pg_basebackup: install PostgreSQL's package (${PACKAGED})`);
    const user = await postgresUser(null);
    const folder = await mkdtemp(join(tmpdir(), 'ranvier-pair-'));
    await chmod(folder, 0o711);
    const [address = 0, ...ports] = await freePorts(3);
    const pair = new PostgresPair({ bin, user, folder, address: await MovingAddress.open(address), ports });
    try {
      await pair.#initialise();
      await pair.attachStandby();
    } catch (error) {
      await pair.stop();
      throw error;
    }
    return pair;
  }

  get url(): string {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.#address.port}/postgres`;
  }

  /** Kills the primary. Until `promote`, no server answers at the address. */
  killPrimary(): Promise<void> {
    return this.#primary.kill();
  }

  /** Promotes the standby, and moves the address to it once it accepts writes. */
  async promote(): Promise<void> {
    await this.#standby.ask('select pg_promote(true, 60)');
    // Otherwise each commit on the new primary would wait for a standby that it does not have.
    await this.#standby.ask('alter system reset synchronous_standby_names');
    await this.#standby.ask('select pg_reload_conf()');
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
    this.#address.pointTo(this.#primary.port);
  }

  /** Points the address to the server that accepts no writes, like a stale name or proxy. */
  nameStandby(): void {
    this.#address.pointTo(this.#standby.port);
  }

  namePrimary(): void {
    this.#address.pointTo(this.#primary.port);
  }

  /** Runs a statement on the standby. Returns the first column of its first row. */
  askStandby(sql: string): Promise<unknown> {
    return this.#standby.ask(sql);
  }

  /** Makes the other server a synchronous standby of the primary, from a copy. */
  async attachStandby(): Promise<void> {
    const { folder, port } = this.#standby;
    await rm(folder, { recursive: true, force: true });
    const source = `host=127.0.0.1 port=${this.#primary.port} user=postgres password=${PASSWORD} application_name=standby`;
    await this.#run('pg_basebackup', ['-D', folder, '-R', '-c', 'fast', '-d', source]);
    await this.#standby.start(this.#bin, this.#user);
    await this.#primary.ask(`alter system set synchronous_standby_names = 'standby'`);
    await this.#primary.ask('select pg_reload_conf()');
    await eventually(`the server on port ${port} is a synchronous standby`, () =>
      this.#primary.ask(`select true from pg_stat_replication where sync_state = 'sync' and state = 'streaming'`),
    );
  }

  async stop(): Promise<void> {
    this.#address.close();
    await this.#standby.kill();
    await this.#primary.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #initialise(): Promise<void> {
    const passwordFile = join(this.#folder, 'password');
    await writePrivately(passwordFile, PASSWORD);
    for (const path of [this.#folder, passwordFile]) {
      if (this.#user) await chown(path, this.#user.uid, this.#user.gid);
    }
    const cluster = ['-U', 'postgres', '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-sync'];
    await this.#run('initdb', ['-D', this.#primary.folder, `--pwfile=${passwordFile}`, ...cluster]);
    await this.#primary.start(this.#bin, this.#user);
    this.#address.pointTo(this.#primary.port);
  }

  #run(program: string, args: string[]): Promise<string> {
    return runAs(this.#user, join(this.#bin, program), args);
  }
}

class MovingAddress {
  readonly port: number;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #target = 0;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async open(port: number): Promise<MovingAddress> {
    const server = createServer((client) => address.#pass(client));
    const address = new MovingAddress(server, port);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return address;
  }

  pointTo(port: number): void {
    this.#target = port;
    this.#cut();
  }

  close(): void {
    this.#server.close();
    this.#cut();
  }

  #cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #pass(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    const pairs: [Socket, Socket][] = [
      [client, server],
      [server, client],
    ];
    for (const [from, to] of pairs) {
      this.#open.add(from);
      from.setNoDelay(true);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}

import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { linked } from '../../shared/core/lock-file.js';
import { FIRST_SLOT, LAST_SLOT, type NetworkSlot, REST_MS } from './network-model.js';

/**
 * Random slots are tried this many times. Even if 99 % of a block is in use, a free one is almost certainly among them.
 */
const TRIES = 2000;
/** A worker takes a slot within milliseconds. An older unfinished slot was left by a killed worker. */
const UNFINISHED_MS = 60_000;

type Claim = Omit<NetworkSlot, 'number' | 'releasedAt'>;

/**
 * Records which sandbox has which address, in files below DATA_DIR that all workers of the host share: `slots/<number>`
 * contains the slot's sandbox, `sandboxes/<id>` the sandbox's slot.
 */
export class SlotFiles {
  readonly #slots: string;
  readonly #sandboxes: string;

  constructor(folder: string) {
    this.#slots = join(folder, 'slots');
    this.#sandboxes = join(folder, 'sandboxes');
  }

  async prepare(): Promise<void> {
    for (const folder of [this.#slots, this.#sandboxes]) await mkdir(folder, { recursive: true, mode: 0o700 });
  }

  async claim(claim: Claim): Promise<NetworkSlot> {
    const candidate = join(this.#slots, `.${claim.name}`);
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        const number = FIRST_SLOT + Math.floor(Math.random() * (LAST_SLOT - FIRST_SLOT + 1));
        const slot: NetworkSlot = { ...claim, number, releasedAt: null };
        await writeFile(candidate, JSON.stringify(slot), { mode: 0o600 });
        if (!(await linked(candidate, this.#path(number)))) continue;
        await writeFile(join(this.#sandboxes, claim.id), String(number), { mode: 0o600 });
        return slot;
      }
    } finally {
      await rm(candidate, { force: true });
    }
    throw new Error(`No address is free for ${claim.id}: this host runs as many sandboxes as it has addresses`);
  }

  async find(id: string): Promise<NetworkSlot | null> {
    const number = await readFile(join(this.#sandboxes, id), 'utf8').catch(() => '');
    const slot = number === '' ? null : await this.at(Number(number));
    return slot !== null && slot.id === id && slot.releasedAt === null ? slot : null;
  }

  async at(number: number): Promise<NetworkSlot | null> {
    const text = await readFile(this.#path(number), 'utf8').catch(() => '');
    return text === '' ? null : (JSON.parse(text) as NetworkSlot);
  }

  async all(): Promise<NetworkSlot[]> {
    return (await this.#read()).filter(({ releasedAt }) => releasedAt === null);
  }

  async ids(): Promise<string[]> {
    return readdir(this.#sandboxes).catch(() => []);
  }

  /** An application's slot is not reused for `REST_MS`. */
  async release(slot: NetworkSlot, now: number): Promise<void> {
    if (slot.use === 'build') await rm(this.#path(slot.number), { force: true });
    else await this.change({ ...slot, releasedAt: now });
    // Keep the sandbox's file if the sandbox has another slot by now.
    const noted = await readFile(join(this.#sandboxes, slot.id), 'utf8').catch(() => '');
    if (noted === String(slot.number)) await this.forget(slot.id);
  }

  async forget(id: string): Promise<void> {
    await rm(join(this.#sandboxes, id), { force: true });
  }

  /** Returns slots to which no sandbox's file refers, because a worker was killed while it took or released them. */
  async orphans(now: number): Promise<NetworkSlot[]> {
    const found: NetworkSlot[] = [];
    for (const slot of await this.all()) {
      const noted = await readFile(join(this.#sandboxes, slot.id), 'utf8').catch(() => '');
      if (noted !== String(slot.number) && (await this.#isOld(String(slot.number), now))) found.push(slot);
    }
    return found;
  }

  /** Frees slots released more than `REST_MS` ago, and removes files that a killed worker did not finish. */
  async expire(now: number): Promise<void> {
    for (const slot of await this.#read()) {
      if (slot.releasedAt !== null && now - slot.releasedAt > REST_MS) {
        await rm(this.#path(slot.number), { force: true });
      }
    }
    for (const name of (await readdir(this.#slots)).filter((file) => !/^\d+$/.test(file))) {
      if (await this.#isOld(name, now)) await rm(join(this.#slots, name), { force: true });
    }
  }

  async #isOld(name: string, now: number): Promise<boolean> {
    const found = await stat(join(this.#slots, name)).catch(() => null);
    return found !== null && now - found.mtimeMs > UNFINISHED_MS;
  }

  async change(slot: NetworkSlot): Promise<NetworkSlot> {
    const path = this.#path(slot.number);
    await writeFile(`${path}.new`, JSON.stringify(slot), { mode: 0o600 });
    await rename(`${path}.new`, path);
    return slot;
  }

  async #read(): Promise<NetworkSlot[]> {
    const names = (await readdir(this.#slots).catch(() => [])).filter((name) => /^\d+$/.test(name));
    const slots = await Promise.all(names.map((name) => this.at(Number(name))));
    return slots.filter((slot) => slot !== null);
  }

  #path(number: number): string {
    return join(this.#slots, String(number));
  }
}

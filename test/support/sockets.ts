import { readdir, readFile, readlink } from 'node:fs/promises';

export interface OpenPort {
  protocol: 'tcp' | 'udp';
  port: number;
}

const TABLES = [
  { file: 'tcp', protocol: 'tcp', state: '0A' },
  { file: 'tcp6', protocol: 'tcp', state: '0A' },
  { file: 'udp', protocol: 'udp', state: '07' },
  { file: 'udp6', protocol: 'udp', state: '07' },
] as const;

/** Lists the ports on which a process accepts connections or datagrams, on any address. */
export async function openPorts(pid: number): Promise<OpenPort[]> {
  const own = await socketInodes(pid);
  const found: OpenPort[] = [];
  for (const { file, protocol, state } of TABLES) {
    const lines = (await readFile(`/proc/net/${file}`, 'utf8')).trim().split('\n').slice(1);
    for (const line of lines) {
      const [, local = '', , st, , , , , , inode = ''] = line.trim().split(/\s+/);
      const port = Number.parseInt(local.split(':')[1] ?? '', 16);
      if (st === state && own.has(inode)) found.push({ protocol, port });
    }
  }
  return found;
}

async function socketInodes(pid: number): Promise<Set<string>> {
  const folder = `/proc/${pid}/fd`;
  const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
  return new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
}

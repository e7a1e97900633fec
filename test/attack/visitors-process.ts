import { setMaxListeners } from 'node:events';
import { ApiClient, visit } from '../support/client.js';
import { deliver } from '../support/hook-delivery.js';
import { type RequestKind, type RequestTargets, repeat, type Sample } from './work-loop.js';

/** A process that makes the single requests of ordinary work. It sends each sample to its parent, and ends with it. */
const targets: RequestTargets[] = JSON.parse(process.argv[2] ?? '[]');
const stop = new AbortController();
setMaxListeners(100, stop.signal);
process.on('disconnect', () => stop.abort());
// With a callback, a parent that ends meanwhile is no uncaught error.
const report = (sample: Sample) => void (process.connected && process.send?.(sample, () => undefined));
await Promise.all(targets.flatMap(requestsOf).map(([kind, work]) => repeat(kind, work, stop.signal, report)));

function requestsOf(target: RequestTargets): [RequestKind, () => Promise<unknown>][] {
  const { baseUrl, workspaceId, key, serviceId, apiPort } = target;
  const client = new ApiClient(baseUrl, workspaceId, key);
  let writes = 0;
  const write = () => {
    const timeoutSeconds = 300 + (++writes % 2);
    return client.expect('PATCH', `/services/${serviceId}`, { configuration: { timeoutSeconds } });
  };
  return [
    // The smallest request. It waits only for the API's event loop.
    ['alive', async () => (await fetch(`http://127.0.0.1:${apiPort}/healthz`)).arrayBuffer()],
    ['read', () => client.expect('GET', '/services')],
    ['write', write],
    ['visit', () => visited(target)],
    ['hook', () => pinged(target)],
  ];
}

async function pinged(target: RequestTargets): Promise<void> {
  const { status } = await deliver(target, target.hook, 'ping', { zen: 'Keep it logically awesome.', hook_id: 1 });
  if (status >= 300) throw new Error(`the hook answered ${status}`);
}

async function visited({ url, edgePort, word }: RequestTargets): Promise<void> {
  const { status, body } = await visit(url, edgePort);
  if (status !== 200 || body !== word) throw new Error(`${status} ${body.slice(0, 120)}`);
}

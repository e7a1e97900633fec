import { once } from 'node:events';
import type { Client } from '@modelcontextprotocol/client';
import type { Server } from '@modelcontextprotocol/server';
import type { Cli } from '../cli.js';

/** Serves the Model Context Protocol on stdin and stdout. Forwards each request to the installation. */
export async function mcp(cli: Cli): Promise<void> {
  const upstream = await connected(cli);
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const { Server } = await import('@modelcontextprotocol/server');
  const handle = serveStdio(() => passingTo(upstream, Server));
  await Promise.race([once(cli.streams.stdin, 'end'), once(cli.signal, 'abort')]);
  await handle.close();
  await upstream.close();
}

async function connected(cli: Cli): Promise<Client> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { url, key } = await cli.client();
  const client = new Client({ name: 'rnv', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${key}`, 'User-Agent': 'rnv' } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return client;
}

function passingTo(upstream: Client, Create: typeof Server): Server {
  const instructions = upstream.getInstructions();
  const server = new Create(
    { name: 'ranvier', version: upstream.getServerVersion()?.version ?? '1' },
    { capabilities: { tools: {}, prompts: {} }, ...(instructions === undefined ? {} : { instructions }) },
  );
  server.setRequestHandler('tools/list', ({ params }) => upstream.listTools(params));
  server.setRequestHandler('tools/call', ({ params }) => upstream.callTool(params));
  server.setRequestHandler('prompts/list', ({ params }) => upstream.listPrompts(params));
  server.setRequestHandler('prompts/get', ({ params }) => upstream.getPrompt(params));
  return server;
}

import { ClipboardAddon, type IClipboardProvider } from '@xterm/addon-clipboard';
import { FitAddon } from '@xterm/addon-fit';
import { SearchAddon } from '@xterm/addon-search';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState } from 'react';
import { ApiError, post } from '../../api/api-client.js';
import { applyStylesByScript } from './terminal-styles.js';

export type ShellState = { is: 'opening' | 'open' } | { is: 'ended'; why: string };

const SHELLS = '/workspaces/{workspaceId}/services/{serviceId}/shells';

/** Lets a program in the shell write to the user's clipboard but not read it, because the program may be malicious. */
const WRITE_ONLY: IClipboardProvider = {
  readText: () => '',
  writeText: (selection, text) => (selection === 'c' ? navigator.clipboard.writeText(text) : undefined),
};

/** Opens a shell in a replica of a service, and shows it in an element. Opens a new shell when `attempt` changes. */
export function useShell(path: { workspaceId: string; serviceId: string }, attempt: number) {
  const place = useRef<HTMLDivElement>(null);
  const search = useRef<SearchAddon>(null);
  const [state, setState] = useState<ShellState>({ is: 'opening' });
  const { workspaceId, serviceId } = path;
  useEffect(() => {
    const element = place.current;
    if (element === null || attempt < 0) return;
    setState({ is: 'opening' });
    const styles = getComputedStyle(element);
    const restore = applyStylesByScript();
    const terminal = new Terminal({
      fontFamily: styles.fontFamily,
      fontSize: 13,
      scrollback: 5000,
      theme: { background: '#14161a', foreground: '#e6e8eb' },
    });
    const [fit, find] = [new FitAddon(), new SearchAddon()];
    for (const addon of [fit, find, new WebLinksAddon(), new ClipboardAddon(undefined, WRITE_ONLY)])
      terminal.loadAddon(addon);
    search.current = find;
    terminal.open(element);
    fit.fit();
    const close = new AbortController();
    connect(terminal, { workspaceId, serviceId }, setState, close.signal).catch((error: unknown) => {
      setState({ is: 'ended', why: error instanceof ApiError ? error.message : 'The shell could not be opened' });
    });
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(element);
    return () => {
      close.abort();
      observer.disconnect();
      terminal.dispose();
      restore();
    };
  }, [workspaceId, serviceId, attempt]);
  return { place, search, state };
}

async function connect(
  terminal: Terminal,
  path: { workspaceId: string; serviceId: string },
  show: (state: ShellState) => void,
  signal: AbortSignal,
): Promise<void> {
  const { cols: columns, rows } = terminal;
  const { shell } = await post(SHELLS, { path, body: { columns, rows } });
  if (signal.aborted) return;
  // Only the path is used, because the page's host may differ from PUBLIC_URL.
  const socket = new WebSocket(new URL(shell.address).pathname);
  socket.binaryType = 'arraybuffer';
  signal.addEventListener('abort', () => socket.close());
  const send = (data: string | Uint8Array<ArrayBuffer>) => socket.readyState === WebSocket.OPEN && socket.send(data);
  const encoder = new TextEncoder();
  let why = '';
  socket.addEventListener('open', () => {
    show({ is: 'open' });
    terminal.focus();
  });
  socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data === 'string') {
      const { exit } = JSON.parse(data) as { exit?: number };
      if (exit !== undefined) why = `It ended with the exit code ${exit}`;
      return;
    }
    terminal.write(new Uint8Array(data));
  });
  socket.addEventListener('close', ({ code, reason }) => {
    if (!signal.aborted)
      show({ is: 'ended', why: (code === 1000 && why) || reason || why || 'The connection was closed' });
  });
  terminal.onData((text) => send(encoder.encode(text)));
  terminal.onBinary((text) => send(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  terminal.onResize(({ cols, rows: height }) => send(JSON.stringify({ resize: { columns: cols, rows: height } })));
}

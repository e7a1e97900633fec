import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { applyStylesByScript } from './terminal-styles.js';

/** Maximum pause between two events of a played recording, in seconds. Longer pauses are shortened to it. */
const MAX_PAUSE = 1;

type Event = readonly [seconds: number, kind: string, data: string];

/** Plays an asciicast v2 in an element. Returns a function that stops playing and removes the terminal. */
export function playRecording(asciicast: string, element: HTMLElement): () => void {
  const [header = '{}', ...lines] = asciicast.split('\n').filter((line) => line !== '');
  const { width = 80, height = 24 } = JSON.parse(header) as { width?: number; height?: number };
  const { fontFamily } = getComputedStyle(element);
  const restore = applyStylesByScript();
  const theme = { background: '#14161a', foreground: '#e6e8eb' };
  const terminal = new Terminal({ cols: width, rows: height, disableStdin: true, fontFamily, fontSize: 13, theme });
  terminal.open(element);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const play = (index: number, since: number) => {
    const event = lines[index];
    if (event === undefined) return;
    const [seconds, kind, data] = JSON.parse(event) as Event;
    const show = () => {
      const [columns = width, rows = height] = data.split('x').map(Number);
      if (kind === 'r') terminal.resize(columns, rows);
      // The next event waits until the terminal has drawn this one.
      terminal.write(kind === 'o' ? data : '', () => play(index + 1, seconds));
    };
    timer = setTimeout(show, Math.min(seconds - since, MAX_PAUSE) * 1000);
  };
  play(0, 0);
  return () => {
    clearTimeout(timer);
    terminal.dispose();
    restore();
  };
}

import { print } from './measure.js';

interface Row {
  figure: string;
  bar: string;
  met(value: number): boolean;
  digits?: number;
}

const atMost = (bar: number, unit: string): Omit<Row, 'figure'> => ({
  bar: `at most ${bar}${unit}`,
  met: (value) => value <= bar,
});
const atLeast = (bar: number, unit: string): Omit<Row, 'figure'> => ({
  bar: `at least ${bar}${unit}`,
  met: (value) => value >= bar,
});

const ROWS = {
  get: { figure: 'GET of one service against Koa and pg', ...atLeast(0.55, ''), digits: 2 },
  patch: { figure: 'PATCH of one service by 8 clients', ...atLeast(450, '/s') },
  keyedPatch: { figure: 'PATCH of one service by 8 clients, an Idempotency-Key each', ...atLeast(450, '/s') },
  site: { figure: 'site of one file, above by hand', ...atMost(100, ' ms') },
  application: { figure: 'npm application, above by hand', ...atMost(200, ' ms') },
  first: { figure: 'npm application, first deployment, above by hand', ...atMost(200, ' ms') },
  changedLock: { figure: 'npm application, another lock file, above by hand', ...atMost(200, ' ms') },
  python: { figure: 'Python application with a package, above by hand', ...atMost(200, ' ms') },
  go: { figure: 'Go application, above by hand', ...atMost(200, ' ms') },
  php: { figure: 'PHP application, above by hand', ...atMost(200, ' ms') },
  image: { figure: "replica of an image, above the host's root", ...atMost(80, ' ms') },
  throughput: { figure: '40 sites at once, 8 slots', ...atLeast(12, '/s'), digits: 1 },
  line: { figure: 'line printed → readable, median', ...atMost(60, ' ms') },
  lateLine: { figure: 'line printed → readable, 99th percentile', ...atMost(120, ' ms') },
  lines: { figure: 'log lines of four applications', ...atLeast(50_000, '/s') },
  search: { figure: 'search of ten million lines', ...atMost(1000, ' ms') },
  cancel: { figure: 'cancel → terminal, at most', ...atMost(500, ' ms') },
  edge: { figure: 'edge against Caddy, requests', ...atLeast(1, ''), digits: 2 },
  apiMemory: { figure: 'api at rest', ...atMost(100, ' MiB') },
  edgeMemory: { figure: 'edge at rest', ...atMost(70, ' MiB') },
  workerMemory: { figure: 'worker at rest', ...atMost(110, ' MiB') },
  eventLoop: { figure: 'event loop of the worker under load, 99th percentile', ...atMost(20, ' ms'), digits: 1 },
  scrape: { figure: 'scrape of /metrics after a million deployments', ...atMost(20, ' ms') },
  list: { figure: 'list of deployments after a million, against none', ...atMost(1.2, ''), digits: 2 },
  engine: { figure: 'the engine against bare BullMQ', ...atLeast(0.5, ''), digits: 2 },
  admission: { figure: 'a round with a million deployments that wait', ...atMost(50, ' ms') },
  shell: { figure: 'POST → first byte of a shell in a terminal, median', ...atMost(150, ' ms') },
  plan: { figure: 'plan of a stack with 200 services', ...atMost(300, ' ms') },
  hold: { figure: 'longest request in a release with a volume, application starts in 0.3 s', ...atMost(1500, ' ms') },
  tunnel: { figure: 'a tunnel against a direct connection, bytes', ...atLeast(0.5, ''), digits: 2 },
  scale: { figure: 'processor time of a deployment, largest host against smallest', ...atMost(1.2, ''), digits: 2 },
  fleetDeployment: {
    figure: 'statements of a deployment, largest fleet against smallest',
    ...atMost(1.1, ''),
    digits: 2,
  },
  fleetIdle: { figure: 'an idle worker of the fleet, statements', ...atMost(0.2, '/s'), digits: 2 },
  fleetRoute: { figure: 'change of a route → last edge, 99th percentile', ...atMost(500, ' ms') },
  fleetAdmission: { figure: 'a round of admission in the fleet, 99th percentile', ...atMost(50, ' ms') },
  fleetEdgeMemory: { figure: "an edge with the fleet's routes", ...atMost(250, ' MiB') },
  fleetEdgeStart: { figure: "start of an edge with the fleet's routes", ...atMost(5, ' s'), digits: 1 },
} as const satisfies Record<string, Row>;

export type Figure = keyof typeof ROWS;

const found = new Map<string, Map<Figure, { value: number; reference: string }>>();
let engine = '';

/** Sets the queue engine to which later figures belong. */
export function recordFor(name: string): void {
  engine = name;
}

/** Records a figure for the table, with a reference that was measured in the same run. */
export function record(figure: Figure, value: number, reference = ''): void {
  const figures = found.get(engine) ?? new Map();
  found.set(engine, figures.set(figure, { value, reference }));
}

/** Prints all recorded figures with their bars as a Markdown table. */
export function printTable(): void {
  print('\n| queues | figure | measured | reference of the same run | bar | |\n|---|---|---|---|---|---|');
  for (const [name, figures] of found) {
    for (const [figure, row] of Object.entries(ROWS) as [Figure, Row][]) {
      const measured = figures.get(figure);
      if (!measured) continue;
      const { value, reference } = measured;
      print(
        `| ${name} | ${row.figure} | ${value.toFixed(row.digits ?? 0)} | ${reference} | ${row.bar} | ${row.met(value) ? 'met' : 'NOT MET'} |`,
      );
    }
  }
}

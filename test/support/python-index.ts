import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { listen } from './http.js';

const run = promisify(execFile);

const WHEEL = `import io, sys, zipfile
name, version, code = sys.argv[1:]
info = f"{name}-{version}.dist-info"
out = io.BytesIO()
with zipfile.ZipFile(out, "w") as wheel:
    wheel.writestr(f"{name}.py", code)
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
sys.stdout.buffer.write(out.getvalue())
`;

export interface PythonIndex {
  /** The value for PIP_INDEX_URL. */
  url: string;
  downloads(): number;
  stop(): Promise<void>;
}

/** Starts an index of Python packages with these versions of the package `greet`. */
export async function startPythonIndex(versions: readonly string[]): Promise<PythonIndex> {
  const wheels = new Map<string, Buffer>();
  for (const version of versions) {
    const args = ['-c', WHEEL, 'greet', version, `VERSION = "${version}"\n`];
    const { stdout } = await run('python3', args, { encoding: 'buffer' });
    wheels.set(`greet-${version}-py3-none-any.whl`, stdout);
  }
  let downloads = 0;
  const server = createServer(({ url = '' }, response) => {
    const wheel = wheels.get(url.split('/').at(-1) ?? '');
    if (wheel !== undefined) {
      downloads += 1;
      response.end(wheel);
    } else if (url === '/simple/greet/') {
      const links = [...wheels.keys()].map((name) => `<a href="/files/${name}">${name}</a>`);
      response.setHeader('content-type', 'text/html').end(`<!DOCTYPE html><html><body>${links.join('')}</body></html>`);
    } else {
      response.writeHead(404).end();
    }
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}/simple/`,
    downloads: () => downloads,
    stop: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

import type { Sample } from './sample.js';

const SERVER = `
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = word().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
def serve():
    http.server.HTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
`;

export const PYTHON_SAMPLES: readonly Sample[] = [
  {
    name: 'Python: one file, without packages',
    needs: 'python3',
    files: { 'main.py': `${SERVER}def word(): return "hello of Python"\nserve()\n`, '.python-version': '3.11\n' },
    expects: { body: 'hello of Python' },
  },
  {
    name: 'Python: packages of an index, in the version of uv.lock',
    needs: 'pip3',
    files: {
      'pyproject.toml': '[project]\nname = "shop"\nversion = "1.0.0"\ndependencies = ["greet>=1"]\n',
      'uv.lock': '[[package]]\nname = "greet"\nversion = "1.1"\nsource = { registry = "https://pypi.org/simple" }\n',
      'main.py': `${SERVER}import greet\ndef word(): return "greet " + greet.VERSION\nserve()\n`,
    },
    expects: { body: 'greet 1.1' },
    keeps: true,
  },
];

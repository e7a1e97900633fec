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
];

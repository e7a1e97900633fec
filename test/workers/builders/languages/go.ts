import type { Sample } from './sample.js';

const server = (body: string) => `package main

import ("net/http"; "os")

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(${body})) })
	http.ListenAndServe(":"+os.Getenv("PORT"), nil)
}
`;

export const GO_SAMPLES: readonly Sample[] = [
  {
    name: 'Go: one main package',
    needs: 'go',
    files: { 'go.mod': 'module example.test/app\n\ngo 1.19\n', 'main.go': server('"hello of Go"') },
    expects: { body: 'hello of Go' },
  },
  {
    name: 'Go: a program below cmd, with a vendored module, for a newer compiler',
    needs: 'go',
    files: {
      'go.mod': 'module example.test/shop\n\ngo 1.99\n\nrequire example.test/word v1.0.0\n',
      'go.sum': '',
      'vendor/modules.txt': '# example.test/word v1.0.0\n## explicit\nexample.test/word\n',
      'vendor/example.test/word/word.go': 'package word\n\nconst Word = "vendored"\n',
      'cmd/migrate/main.go': 'package main\n\nfunc main() {}\n',
      'cmd/server/main.go': server('word.Word').replace('"net/http"', '"example.test/word"; "net/http"'),
    },
    expects: { body: 'vendored' },
  },
];

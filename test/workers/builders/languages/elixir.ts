import type { Sample } from './sample.js';

const SERVER = `
defmodule Hello.Application do
  use Application
  def start(_type, _args) do
    Supervisor.start_link([{Task, fn -> serve(String.to_integer(System.fetch_env!("PORT"))) end}], strategy: :one_for_one)
  end
  defp serve(port) do
    {:ok, listener} = :gen_tcp.listen(port, [:binary, active: false, reuseaddr: true])
    accept(listener)
  end
  defp accept(listener) do
    {:ok, socket} = :gen_tcp.accept(listener)
    :gen_tcp.recv(socket, 0)
    body = "hello of Elixir, MIX_ENV #{System.get_env("MIX_ENV")}"
    :gen_tcp.send(socket, "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: #{byte_size(body)}\\r\\n\\r\\n" <> body)
    :gen_tcp.close(socket)
    accept(listener)
  end
end
`;

const mix = (more: string) => `
defmodule Hello.MixProject do
  use Mix.Project
  def project, do: [app: :hello, version: "0.1.0", elixir: "~> 1.14"${more}]
  def application, do: [mod: {Hello.Application, []}, extra_applications: [:logger]]
end
`;

export const ELIXIR_SAMPLES: readonly Sample[] = [
  {
    name: 'Elixir: an application of Mix',
    needs: 'mix',
    files: { 'mix.exs': mix(''), 'lib/hello.ex': SERVER },
    expects: { body: 'hello of Elixir, MIX_ENV prod' },
  },
  {
    name: 'Elixir: a release',
    needs: 'mix',
    files: { 'mix.exs': mix(', releases: [hello: []]'), 'lib/hello.ex': SERVER },
    expects: { body: 'hello of Elixir, MIX_ENV prod' },
  },
];
